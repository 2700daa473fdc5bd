import { Kbd, UnstyledButton } from "@mantine/core";
import { useHotkeys, useOs } from "@mantine/hooks";
import { lazy, Suspense, useState } from "react";
import { Icon } from "../parts/icon.tsx";
import classes from "./frame.module.css";

// Most visits never open it, so it is fetched when it is first wanted.
const FinderBox = lazy(() =>
  import("./finder-box.tsx").then(
    (loaded) => ({ default: loaded.FinderBox }),
    // Without a connection nothing opens, and the page stays.
    () => ({ default: () => <></> }),
  ),
);

/** Finds pages, keys and request ids from anywhere. */
export function Finder() {
  const [timesWanted, setTimesWanted] = useState(0);
  const os = useOs();
  const open = (): void => setTimesWanted((times) => times + 1);
  useHotkeys([["mod+K", open]], []);
  return (
    <>
      <UnstyledButton className={classes.finder} onClick={open}>
        <Icon name="playground" />
        <span className="hidden-from-eyes">Find pages, keys and request ids</span>
        <span className={classes.finderWords} aria-hidden="true">
          Find <Kbd size="xs">{os === "macos" || os === "ios" ? "⌘ K" : "Ctrl K"}</Kbd>
        </span>
      </UnstyledButton>
      {timesWanted > 0 && (
        <Suspense>
          <FinderBox timesWanted={timesWanted} />
        </Suspense>
      )}
    </>
  );
}
