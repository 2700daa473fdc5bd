import { Outlet } from "@tanstack/react-router";
import { useEffect } from "react";
import { ConfirmPerson } from "./confirm-person.tsx";
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
          <main id="content" tabIndex={-1} className={classes.content}>
            <Outlet />
          </main>
        </div>
        <BottomBar />
      </div>
      <ConfirmPerson />
    </ModeProvider>
  );
}

/** Nobody confuses play money with money. */
function TestBand() {
  const { mode } = useMode();
  if (mode === "live") return undefined;
  return (
    <div className={classes.testBand} role="note">
      Test mode: made-up results, no charge. Live searches and money are hidden where they could be confused.
    </div>
  );
}
