import { useWallet } from "../../frame/use-wallet.ts";
import { Page } from "../../parts/page.tsx";
import { LowBalance } from "./low-balance.tsx";
import { Webhooks } from "./webhooks.tsx";

export function Alerts() {
  const { mayChange } = useWallet();
  return (
    <Page
      title="Alerts"
      about={
        mayChange
          ? "Be told before searches stop, by mail or by a signed event."
          : "You see the alerts as a viewer. An owner or developer can change them."
      }
    >
      <LowBalance />
      <Webhooks />
    </Page>
  );
}
