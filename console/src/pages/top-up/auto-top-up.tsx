import { Button, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { api } from "../../api/client.ts";
import { useSession } from "../../api/session.ts";
import { type AutoTopUp, autoTopUpQuery } from "../../api/top-ups.ts";
import { walletPath } from "../../api/wallet.ts";
import { useWallet } from "../../frame/use-wallet.ts";
import { AmountInput } from "../../parts/amount-input.tsx";
import { Meter } from "../../parts/meter.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Section } from "../../parts/page.tsx";
import { StateWord, type Tone } from "../../parts/state-word.tsx";
import { Failure, Refusal, RowsSkeleton } from "../../parts/states.tsx";
import { isLess } from "../../words/amounts.ts";
import { formatMoney } from "../../words/format-money.ts";
import { type AutoDraft, readAutoDraft, toAutoDraft } from "./auto-draft.ts";
import classes from "./top-up.module.css";

export function AutomaticTopUp() {
  const { id } = useWallet();
  const auto = useQuery(autoTopUpQuery(id));
  return (
    <Section
      title="Automatic top-up"
      about="Charges a saved card when the balance is low, never more in a month than you say."
    >
      {auto.isPending && <RowsSkeleton rows={2} />}
      {auto.isError && !auto.data && (
        <Failure error={auto.error} what="The automatic top-up could not be read." retry={() => auto.refetch()} />
      )}
      {auto.data && <Order auto={auto.data} />}
    </Section>
  );
}

const states: Record<Exclude<AutoTopUp["state"], "none">, [Tone, string]> = {
  active: ["success", "On: the saved card is charged"],
  waiting_for_card: ["warning", "Waiting for a card: the next top-up that you pay here saves it"],
  backing_off: ["warning", "The card was declined; it is tried again"],
  off: ["danger", "Off: the card was declined four times. Save it again to start anew"],
};

function Order({ auto }: { auto: AutoTopUp }) {
  const { mayChange } = useWallet();
  const [isEditing, setIsEditing] = useState(false);
  if (isEditing) return <OrderForm auto={auto} onDone={() => setIsEditing(false)} />;
  if (auto.state === "none") {
    return (
      <Group>
        <Text size="sm">It is off. When the balance is spent, searches are refused until somebody tops up.</Text>
        {mayChange && (
          <Button variant="default" onClick={() => setIsEditing(true)}>
            Set it up
          </Button>
        )}
      </Group>
    );
  }
  return <Running auto={auto} state={auto.state} onEdit={() => setIsEditing(true)} />;
}

function Running(props: { auto: AutoTopUp; state: keyof typeof states; onEdit: () => void }) {
  const { auto, state, onEdit } = props;
  const { id, mayChange } = useWallet();
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () => api<AutoTopUp>(walletPath(id, "wallet/auto-top-up"), { method: "DELETE" }),
    onSuccess: () => queries.invalidateQueries(autoTopUpQuery(id)),
  });
  const [tone, words] = states[state];
  const { threshold, amount, monthly_cap: cap, added_this_month: added, next_attempt_at: next } = auto;
  return (
    <Stack gap="sm" maw={560}>
      <div>
        <StateWord tone={tone}>
          {words}
          {next !== null && state === "backing_off" && (
            <>
              {" "}
              <Moment at={next} />
            </>
          )}
        </StateWord>
      </div>
      <Text>
        Below {formatMoney(threshold ?? "0")}, {formatMoney(amount ?? "0")} is added.
      </Text>
      {cap !== null && added !== null && (
        <div>
          <Text size="sm">
            {formatMoney(added)} of {formatMoney(cap)} added this month
          </Text>
          <Meter spent={added} limit={cap} isFull={!isLess(added, cap)} label="Added this month" />
        </div>
      )}
      {mayChange && (
        <Group gap="xs">
          <Button variant="default" onClick={onEdit}>
            Change
          </Button>
          <Button variant="default" loading={end.isPending} onClick={() => end.mutate()}>
            Turn off and forget the card
          </Button>
        </Group>
      )}
      <Refusal error={end.error} />
    </Stack>
  );
}

function OrderForm({ auto, onDone }: { auto: AutoTopUp; onDone: () => void }) {
  const { id } = useWallet();
  const { top_up: limits } = useSession();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => toAutoDraft(auto));
  const [errors, setErrors] = useState<Partial<AutoDraft>>({});
  const save = useMutation({
    mutationFn: (body: object) => api<AutoTopUp>(walletPath(id, "wallet/auto-top-up"), { method: "PUT", body }),
    onSuccess: async () => {
      await queries.invalidateQueries(autoTopUpQuery(id));
      onDone();
    },
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const { body, errors: found } = readAutoDraft(draft, limits);
    setErrors(found);
    if (body) save.mutate(body);
  };
  const field = (name: keyof AutoDraft, label: string) => (
    <AmountInput
      label={label}
      value={draft[name]}
      error={errors[name]}
      onChange={(text) => setDraft({ ...draft, [name]: text })}
    />
  );
  return (
    <form onSubmit={submit} noValidate>
      <div className={classes.fields}>
        {field("threshold", "When the balance is below")}
        {field("amount", "Add each time")}
        {field("monthly", "At most in a month (UTC)")}
      </div>
      <Text size="sm" c="dimmed" my="sm">
        The card is the one of the next top-up that you pay on this page, kept by the payment processor.
      </Text>
      <Refusal error={save.error} />
      <Group gap="xs">
        <Button type="submit" variant="default" loading={save.isPending}>
          Save
        </Button>
        <Button variant="subtle" color="ink" onClick={onDone}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}
