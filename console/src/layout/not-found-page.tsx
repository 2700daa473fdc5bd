import { Button, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useContext } from "react";
import { sessionQuery, type WalletMembership } from "../api/session.ts";
import { Page } from "../components/page.tsx";
import { CenteredPage } from "./centered-page.tsx";
import { ConsoleFrame } from "./console-layout.tsx";
import { readLastWallet } from "./last-wallet.ts";
import { WalletContext } from "./use-wallet.ts";

const text = "This page does not exist, or it belongs to a wallet you are not a member of.";

/** Keeps the navigation: of the wallet in the URL, or else of the wallet opened last. */
export function NotFoundPage() {
  const current = useContext(WalletContext);
  const session = useQuery({ ...sessionQuery, enabled: !current });
  const last = readLastWallet(session.data?.wallets ?? []);
  if (current) return <NotFound wallet={current} />;
  if (last) {
    return (
      <ConsoleFrame wallet={last}>
        <NotFound wallet={last} />
      </ConsoleFrame>
    );
  }
  return (
    <CenteredPage title="Not found" description={text}>
      <Button component={Link} to="/" style={{ alignSelf: "flex-start" }}>
        Go to console
      </Button>
    </CenteredPage>
  );
}

function NotFound({ wallet }: { wallet: WalletMembership }) {
  const params = { walletId: wallet.id } as never;
  return (
    <Page title="Not found" description={text}>
      <Group gap="sm">
        <Button component={Link} to="/w/$walletId" params={params}>
          Go to overview
        </Button>
        <Button component={Link} to="/w/$walletId/ledger" params={params} variant="default">
          Look up a request
        </Button>
      </Group>
    </Page>
  );
}
