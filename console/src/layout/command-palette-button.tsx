import { Kbd, UnstyledButton } from "@mantine/core";
import { useHotkeys, useOs } from "@mantine/hooks";
import { lazy, Suspense, useState } from "react";
import { Icon } from "../components/icon.tsx";
import classes from "./layout.module.css";

// Loaded when it is first opened, because most visits never use it.
const LazyPalette = lazy(() =>
  import("./command-palette.tsx").then(
    (loaded) => ({ default: loaded.CommandPalette }),
    // Offline, it does not open and the page stays usable.
    () => ({ default: () => <></> }),
  ),
);

export function CommandPaletteButton() {
  const [openCount, setOpenCount] = useState(0);
  const os = useOs();
  const open = (): void => setOpenCount((count) => count + 1);
  useHotkeys([["mod+K", open]], []);
  return (
    <>
      <UnstyledButton className={classes.paletteButton} onClick={open}>
        <Icon name="playground" />
        <span className="visually-hidden">Open the command palette</span>
        <span className={classes.paletteHint} aria-hidden="true">
          Find <Kbd size="xs">{os === "macos" || os === "ios" ? "⌘ K" : "Ctrl K"}</Kbd>
        </span>
      </UnstyledButton>
      {openCount > 0 && (
        <Suspense>
          <LazyPalette openCount={openCount} />
        </Suspense>
      )}
    </>
  );
}
