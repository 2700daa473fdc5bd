import { Page } from "../../components/page.tsx";
import { useWallet } from "../../layout/use-wallet.ts";
import { LowBalance } from "./low-balance.tsx";
import { Webhooks } from "./webhooks.tsx";

export function Alerts() {
  const { canEdit } = useWallet();
  return (
    <Page
      title="Alerts"
      description={
        canEdit
          ? "Get an email or a signed webhook before searches stop."
          : "You have view-only access. An owner or developer can edit alerts."
      }
    >
      <LowBalance />
      <Webhooks />
    </Page>
  );
}
