import { Button, Group, Text, UnstyledButton } from "@mantine/core";
import type { TopUp } from "@pennyblack/sdk";
import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useRef, useState } from "react";
import { api } from "../../api/client.ts";
import { useSession } from "../../api/session.ts";
import { walletPath } from "../../api/wallet.ts";
import { AmountInput } from "../../components/amount-input.tsx";
import { InlineError } from "../../components/states.tsx";
import { formatMoney } from "../../format/format-money.ts";
import { formatCount } from "../../format/format-time.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { checkAmount, countSearches, listAmounts } from "./amounts.ts";
import { checkoutReturnUrls, saveCheckout } from "./checkout-state.ts";
import classes from "./top-up.module.css";

export function PaymentForm({ price }: { price: string }) {
  const { top_up: limits } = useSession();
  const presets = listAmounts(limits);
  const [selected, setSelected] = useState(presets[2] ?? presets[0] ?? limits.minimum);
  const [custom, setCustom] = useState("");
  const [error, setError] = useState<string>();
  const pay = usePayment();
  const checked = custom.trim() === "" ? { amount: selected } : checkAmount(custom, limits);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setError(checked.error);
    if (checked.amount !== undefined) pay.mutate(checked.amount);
  };
  return (
    <form onSubmit={submit} noValidate>
      <div className={classes.amounts} role="group" aria-label="Amount">
        {presets.map((amount) => (
          <UnstyledButton
            key={amount}
            className={classes.amount}
            aria-pressed={custom.trim() === "" && selected === amount}
            onClick={() => {
              setSelected(amount);
              setCustom("");
              setError(undefined);
            }}
          >
            <span className={classes.amountValue}>{formatMoney(amount)}</span>
            <span className={classes.searches}>{formatCount(countSearches(amount, price), "search", "searches")}</span>
          </UnstyledButton>
        ))}
      </div>
      <AmountInput
        mt="md"
        maw={280}
        label="Custom amount"
        description={`From ${formatMoney(limits.minimum)} to ${formatMoney(limits.maximum)}`}
        value={custom}
        error={error}
        onChange={(text) => {
          setCustom(text);
          setError(undefined);
        }}
      />
      <Group mt="lg" gap="md">
        <Button type="submit" loading={pay.isPending || pay.isSuccess}>
          {checked.amount === undefined ? "Pay" : `Pay ${formatMoney(checked.amount)}`}
        </Button>
        <Text size="sm" c="dimmed">
          You pay on our payment processor's page. We never see your card details.
        </Text>
      </Group>
      <InlineError error={pay.error} />
    </form>
  );
}

function usePayment() {
  const { id } = useWallet();
  const { public_url: publicUrl } = useSession();
  // A second click for the same amount opens the same checkout.
  const attempt = useRef({ amount: "", idempotencyKey: "" });
  return useMutation({
    mutationFn: async (amount: string) => {
      if (attempt.current.amount !== amount) attempt.current = { amount, idempotencyKey: newIdempotencyKey() };
      const topUp = await api<TopUp>(walletPath(id, "wallet/top-ups"), {
        method: "POST",
        headers: { "idempotency-key": attempt.current.idempotencyKey },
        body: { amount, ...checkoutReturnUrls(publicUrl, id) },
      });
      saveCheckout(id, topUp.id);
      if (topUp.checkout_url !== null && /^https?:/.test(topUp.checkout_url)) {
        globalThis.location.assign(topUp.checkout_url);
      }
      return topUp;
    },
  });
}

function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
