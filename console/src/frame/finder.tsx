import { Kbd, UnstyledButton } from "@mantine/core";
import { useHotkeys, useOs } from "@mantine/hooks";
import { lazy, Suspense, useState } from "react";
import { Icon } from "../parts/icon.tsx";
import classes from "./frame.module.css";

// Most visits never open it, so it is fetched when it is first wanted.
const FinderBox = lazy(async () => ({ default: (await import("./finder-box.tsx")).FinderBox }));

/** Finds pages, keys and request ids from anywhere. */
export function Finder() {
  const [timesWanted, setTimesWanted] = useState(0);
  const os = useOs();
  const open = (): void => setTimesWanted((times) => times + 1);
  useHotkeys([["mod+K", open]], []);
  return (
    <>
      <UnstyledButton className={classes.finder} onClick={open} aria-label="Find pages, keys and request ids">
        <Icon name="playground" />
        <span className={classes.finderWords}>
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
