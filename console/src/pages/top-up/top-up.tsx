import { Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useSession } from "../../api/session.ts";
import { topUpsQuery } from "../../api/top-ups.ts";
import { type Wallet, walletQuery } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { Code } from "../../parts/code.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Page } from "../../parts/page.tsx";
import { isLess } from "../../words/amounts.ts";
import { formatMoney } from "../../words/format-money.ts";
import { AutomaticTopUp } from "./auto-top-up.tsx";
import { forgetTopUp, recallTopUp } from "./open-checkout.ts";
import { Pay } from "./pay.tsx";
import { Receipts } from "./receipts.tsx";
import { Returned } from "./returned.tsx";
import classes from "./top-up.module.css";

const route = getRouteApi("/signed-in/w/$walletId/top-up");

/** Where a refusal for lack of money leads. */
export function TopUp() {
  const { id, mayChange } = useWallet();
  const { features } = useSession();
  const wallet = useQuery(walletQuery(id));
  return (
    <Page title="Top up" about="Paid in advance: searches spend what is here, and nothing else.">
      {features.payments && <AfterCheckout key={id} />}
      {wallet.data && <Shortage wallet={wallet.data} />}
      {features.payments ? (
        <>
          {mayChange ? (
            <Pay price={wallet.data?.price ?? "0.01"} />
          ) : (
            <Text c="dimmed">You see this page as a viewer. An owner or developer can top up.</Text>
          )}
          <AutomaticTopUp />
          <Receipts />
        </>
      ) : (
        <ByHand walletId={id} />
      )}
    </Page>
  );
}

function AfterCheckout() {
  const { id } = useWallet();
  const { checkout } = route.useSearch();
  const navigate = route.useNavigate();
  const [remembered, setRemembered] = useState(() => recallTopUp(id));
  // Somebody who paid in another window: the newest that is not settled must be it.
  const list = useInfiniteQuery({ ...topUpsQuery(id), enabled: checkout !== undefined && remembered === undefined });
  const pending = list.data?.pages[0]?.top_ups.find(({ status }) => status === "pending");
  const topUpId = remembered ?? (checkout === undefined ? undefined : pending?.id);
  if (topUpId === undefined) return undefined;
  return (
    <Returned
      topUpId={topUpId}
      hasLeft={checkout === "left"}
      onDone={() => {
        forgetTopUp();
        setRemembered(undefined);
        navigate({ search: {}, replace: true }).catch(() => undefined);
      }}
    />
  );
}

/** Why somebody may have come here. */
function Shortage({ wallet }: { wallet: Wallet }) {
  const { available, price, owed, held } = wallet;
  if (Number(owed) > 0) {
    return (
      <Notice title={`${formatMoney(owed)} is owed`} tone="danger">
        <Text size="sm">A payment was given back or disputed. The next top-up settles this first.</Text>
      </Notice>
    );
  }
  if (!isLess(available, price)) return undefined;
  return (
    <Notice title={`${formatMoney(available)} is left: too little for a search`} tone="danger">
      <Text size="sm">
        Searches are refused, and nothing is charged, until you top up.
        {Number(held) > 0 && ` ${formatMoney(held)} is set aside for searches in flight.`}
      </Text>
    </Notice>
  );
}

function ByHand({ walletId }: { walletId: string }) {
  return (
    <Notice title="This installation takes no payments by itself">
      <Text size="sm">
        Whoever runs it adds money by hand. Tell them the amount and the id of this wallet; the ledger shows it as a
        credit at once. They run:
      </Text>
      <div className={classes.command}>
        <Code
          label="the operator's command"
          text={`npm run admin -- credit --wallet ${walletId} --amount 20.00 --kind invoice --reason "paid by invoice" --reference INV-17`}
        />
      </div>
    </Notice>
  );
}
