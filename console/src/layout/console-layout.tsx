import { Outlet, useLocation } from "@tanstack/react-router";
import { type RefObject, useEffect, useRef } from "react";
import { saveLastWallet } from "./last-wallet.ts";
import classes from "./layout.module.css";
import { ModeProvider, useMode } from "./mode.tsx";
import { BottomBar, Sidebar } from "./navigation.tsx";
import { TopBar } from "./top-bar.tsx";
import { useWallet } from "./use-wallet.ts";

export function ConsoleLayout() {
  const { id } = useWallet();
  useEffect(() => saveLastWallet(id), [id]);
  const content = useRef<HTMLElement>(null);
  useFocusOnNavigation(content);
  return (
    <ModeProvider>
      <a className={classes.skipLink} href="#content">
        Skip to content
      </a>
      <div className={classes.layout}>
        <Sidebar />
        <div className={classes.column}>
          <TopBar />
          <TestModeBanner />
          <main id="content" ref={content} tabIndex={-1} className={classes.content}>
            <Outlet />
          </main>
        </div>
        <BottomBar />
      </div>
    </ModeProvider>
  );
}

/** Moves the focus to the new page, for keyboard and screen reader users. */
function useFocusOnNavigation(content: RefObject<HTMLElement | null>): void {
  const pathname = useLocation({ select: (location) => location.pathname });
  const last = useRef(pathname);
  useEffect(() => {
    if (last.current === pathname) return;
    last.current = pathname;
    content.current?.focus({ preventScroll: true });
  }, [pathname, content]);
}

function TestModeBanner() {
  const { mode } = useMode();
  if (mode === "live") return undefined;
  return (
    <aside className={classes.testBanner} aria-label="Test mode">
      Test mode. Results are simulated and searches are free. Most live data is hidden.
    </aside>
  );
}
