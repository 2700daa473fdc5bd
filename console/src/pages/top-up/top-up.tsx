import { Button, Text } from "@mantine/core";
import type { Wallet } from "@pennyblack/sdk";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useSession } from "../../api/session.ts";
import { topUpsQuery } from "../../api/top-ups.ts";
import { walletQuery } from "../../api/wallet.ts";
import { CodeBlock } from "../../components/code-block.tsx";
import { Notice } from "../../components/notice.tsx";
import { Page } from "../../components/page.tsx";
import { isLessThan } from "../../format/amounts.ts";
import { formatMoney } from "../../format/format-money.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { AutomaticTopUp } from "./auto-top-up.tsx";
import { CheckoutResult } from "./checkout-result.tsx";
import { clearCheckout, readCheckout } from "./checkout-state.ts";
import { PaymentForm } from "./payment-form.tsx";
import { Receipts } from "./receipts.tsx";
import classes from "./top-up.module.css";

const route = getRouteApi("/signed-in/w/$walletId/top-up");

export function TopUp() {
  const { id, canEdit } = useWallet();
  const { features } = useSession();
  const wallet = useQuery(walletQuery(id));
  return (
    <Page title="Top up" description="Add prepaid credit. Searches are paid from this balance only.">
      {features.payments && <CheckoutNotice key={id} />}
      {wallet.data && <LowBalanceNotice wallet={wallet.data} />}
      {features.payments ? (
        <>
          {canEdit ? (
            <PaymentForm price={wallet.data?.price ?? "0.01"} />
          ) : (
            <Text c="dimmed">You have view-only access. An owner or developer can top up.</Text>
          )}
          <AutomaticTopUp />
          <Receipts />
        </>
      ) : (
        <OtherPayment walletId={id} url={features.topUpUrl} />
      )}
    </Page>
  );
}

function CheckoutNotice() {
  const { id } = useWallet();
  const { checkout } = route.useSearch();
  const navigate = route.useNavigate();
  const [savedId, setSavedId] = useState(() => readCheckout(id));
  // If the user paid in another window, assume the newest pending top-up.
  const list = useInfiniteQuery({ ...topUpsQuery(id), enabled: checkout !== undefined && savedId === undefined });
  const pending = list.data?.pages[0]?.top_ups.find(({ status }) => status === "pending");
  const topUpId = savedId ?? (checkout === undefined ? undefined : pending?.id);
  if (topUpId === undefined) return undefined;
  return (
    <CheckoutResult
      topUpId={topUpId}
      isCanceled={checkout === "left"}
      onDone={() => {
        clearCheckout();
        setSavedId(undefined);
        navigate({ search: {}, replace: true }).catch(() => undefined);
      }}
    />
  );
}

function LowBalanceNotice({ wallet }: { wallet: Wallet }) {
  const { available, price, owed, held } = wallet;
  if (Number(owed) > 0) {
    return (
      <Notice title={`You owe ${formatMoney(owed)}`} tone="danger">
        <Text size="sm">A payment was refunded or disputed. Your next top-up pays this off first.</Text>
      </Notice>
    );
  }
  if (!isLessThan(available, price)) return undefined;
  return (
    <Notice title={`Your balance of ${formatMoney(available)} is too low for a search`} tone="danger">
      <Text size="sm">
        Searches are rejected until you top up. You are not charged for them.
        {Number(held) > 0 && ` ${formatMoney(held)} is on hold for searches in progress.`}
      </Text>
    </Notice>
  );
}

/** Payments that the operator takes elsewhere. */
function OtherPayment({ walletId, url }: { walletId: string; url: string | undefined }) {
  if (url === undefined) return <ManualCredit walletId={walletId} />;
  return (
    <Button component="a" href={url} w="fit-content">
      Continue to the top-up page
    </Button>
  );
}

function ManualCredit({ walletId }: { walletId: string }) {
  return (
    <Notice title="Online payments are not configured">
      <Text size="sm">
        Ask the operator to add credit to this wallet. It appears in the ledger immediately. The operator runs:
      </Text>
      <div className={classes.command}>
        <CodeBlock
          label="operator command"
          isWrapped
          text={`npm run admin -- credit --wallet ${walletId} --amount 20.00 --kind invoice --reason "paid by invoice" --reference INV-17`}
        />
      </div>
    </Notice>
  );
}
