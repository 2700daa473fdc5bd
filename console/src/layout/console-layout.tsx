import { Outlet, useLocation, useRouteContext } from "@tanstack/react-router";
import { type ReactNode, type RefObject, useEffect, useRef } from "react";
import { useLiveUpdates } from "../api/live-updates.ts";
import { useSession, type WalletMembership } from "../api/session.ts";
import { saveLastWallet } from "./last-wallet.ts";
import classes from "./layout.module.css";
import { ModeProvider, useMode } from "./mode.tsx";
import { BottomBar, Sidebar } from "./navigation.tsx";
import { TopBar } from "./top-bar.tsx";
import { WalletContext } from "./use-wallet.ts";

export function ConsoleLayout() {
  const { wallet } = useRouteContext({ from: "/signed-in/w/$walletId" });
  useEffect(() => saveLastWallet(wallet.id), [wallet.id]);
  useLiveUpdates(wallet.id);
  return (
    <ConsoleFrame wallet={wallet}>
      <Outlet />
    </ConsoleFrame>
  );
}

/** The navigation around a page. */
export function ConsoleFrame({ wallet, children }: { wallet: WalletMembership; children: ReactNode }) {
  const content = useRef<HTMLElement>(null);
  useFocusOnNavigation(content);
  return (
    <WalletContext value={wallet}>
      <ModeProvider>
        <a className={classes.skipLink} href="#content">
          Skip to content
        </a>
        <div className={classes.layout}>
          <Sidebar />
          <div className={classes.column}>
            <TopBar />
            <OperatorBanner />
            <TestModeBanner />
            <main id="content" ref={content} tabIndex={-1} className={classes.content}>
              {children}
            </main>
          </div>
          <BottomBar />
        </div>
      </ModeProvider>
    </WalletContext>
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

function OperatorBanner() {
  const { operator } = useSession();
  if (operator === undefined) return undefined;
  return (
    <aside className={classes.operatorBanner} aria-label="Operator">
      Operator {operator}: a customer's account, read-only. This visit is recorded.{" "}
      <a href="/console/#accounts">Operator console</a>
    </aside>
  );
}

function TestModeBanner() {
  const { mode } = useMode();
  if (mode === "live") return undefined;
  return (
    <aside className={classes.testBanner} aria-label="Test mode">
      Test mode. Searches are free and return synthetic results. Live data is hidden.
    </aside>
  );
}
