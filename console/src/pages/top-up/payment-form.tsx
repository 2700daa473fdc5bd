import { Button, Group, Text, UnstyledButton } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useRef, useState } from "react";
import { api } from "../../api/client.ts";
import { useSession } from "../../api/session.ts";
import type { TopUp } from "../../api/top-ups.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { AmountInput } from "../../parts/amount-input.tsx";
import { Refusal } from "../../parts/states.tsx";
import { formatMoney } from "../../words/format-money.ts";
import { formatCount } from "../../words/format-time.ts";
import { checkAmount, countSearches, listAmounts } from "./amounts.ts";
import { rememberTopUp, returnPages } from "./open-checkout.ts";
import classes from "./top-up.module.css";

/** Choose an amount, then go and pay it at the processor's page. */
export function Pay({ price }: { price: string }) {
  const { top_up: limits } = useSession();
  const offers = listAmounts(limits);
  const [chosen, setChosen] = useState(offers[2] ?? offers[0] ?? limits.minimum);
  const [own, setOwn] = useState("");
  const [error, setError] = useState<string>();
  const pay = usePay();
  const wanted = own.trim() === "" ? { amount: chosen } : checkAmount(own, limits);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setError(wanted.error);
    if (wanted.amount !== undefined) pay.mutate(wanted.amount);
  };
  return (
    <form onSubmit={submit} noValidate>
      <div className={classes.amounts} role="group" aria-label="Amount">
        {offers.map((amount) => (
          <UnstyledButton
            key={amount}
            className={classes.amount}
            aria-pressed={own.trim() === "" && chosen === amount}
            onClick={() => {
              setChosen(amount);
              setOwn("");
              setError(undefined);
            }}
          >
            <span className={classes.sum}>{formatMoney(amount)}</span>
            <span className={classes.good}>{formatCount(countSearches(amount, price), "search", "searches")}</span>
          </UnstyledButton>
        ))}
      </div>
      <AmountInput
        mt="md"
        maw={280}
        label="Or an amount of your own"
        description={`From ${formatMoney(limits.minimum)} to ${formatMoney(limits.maximum)}`}
        value={own}
        error={error}
        onChange={(text) => {
          setOwn(text);
          setError(undefined);
        }}
      />
      <Group mt="lg" gap="md">
        <Button type="submit" loading={pay.isPending || pay.isSuccess}>
          {wanted.amount === undefined ? "Pay" : `Pay ${formatMoney(wanted.amount)}`}
        </Button>
        <Text size="sm" c="dimmed">
          You pay on the page of our payment processor. We never see your card.
        </Text>
      </Group>
      <Refusal error={pay.error} />
    </form>
  );
}

function usePay() {
  const { id } = useWallet();
  const { public_url: publicUrl } = useSession();
  // A second press for the same amount opens the same checkout, not another.
  const attempt = useRef({ amount: "", name: "" });
  return useMutation({
    mutationFn: async (amount: string) => {
      if (attempt.current.amount !== amount) attempt.current = { amount, name: newName() };
      const topUp = await api<TopUp>(walletPath(id, "wallet/top-ups"), {
        method: "POST",
        headers: { "idempotency-key": attempt.current.name },
        body: { amount, ...returnPages(publicUrl, id) },
      });
      rememberTopUp(id, topUp.id);
      if (topUp.checkout_url !== null && /^https?:/.test(topUp.checkout_url)) {
        globalThis.location.assign(topUp.checkout_url);
      }
      return topUp;
    },
  });
}

function newName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
