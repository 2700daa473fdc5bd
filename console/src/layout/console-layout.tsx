import { Outlet, useLocation } from "@tanstack/react-router";
import { type RefObject, useEffect, useRef } from "react";
import classes from "./frame.module.css";
import { rememberWallet } from "./last-wallet.ts";
import { ModeProvider, useMode } from "./mode.tsx";
import { BottomBar, Rail } from "./navigation.tsx";
import { TopBar } from "./top-bar.tsx";
import { useWallet } from "./use-wallet.ts";

/** What stands around every page of a wallet. */
export function Frame() {
  const { id } = useWallet();
  useEffect(() => rememberWallet(id), [id]);
  const content = useRef<HTMLElement>(null);
  useFocusOnNavigation(content);
  return (
    <ModeProvider>
      <a className={classes.skip} href="#content">
        Skip to the content
      </a>
      <div className={classes.frame}>
        <Rail />
        <div className={classes.column}>
          <TopBar />
          <TestBand />
          <main id="content" ref={content} tabIndex={-1} className={classes.content}>
            <Outlet />
          </main>
        </div>
        <BottomBar />
      </div>
    </ModeProvider>
  );
}

/** Whoever goes to another page by keyboard or hears it read begins at its head, not at the link that led there. */
function useFocusOnNavigation(content: RefObject<HTMLElement | null>): void {
  const pathname = useLocation({ select: (location) => location.pathname });
  const last = useRef(pathname);
  useEffect(() => {
    if (last.current === pathname) return;
    last.current = pathname;
    content.current?.focus({ preventScroll: true });
  }, [pathname, content]);
}

/** Nobody confuses play money with money. */
function TestBand() {
  const { mode } = useMode();
  if (mode === "live") return undefined;
  return (
    <aside className={classes.testBand} aria-label="Test mode">
      Test mode: made-up results, no charge. Live searches and money are hidden where they could be confused.
    </aside>
  );
}
