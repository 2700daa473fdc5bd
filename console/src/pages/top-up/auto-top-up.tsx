import { Button, Group, Stack, Text } from "@mantine/core";
import type { AutoTopUp } from "@pennyblack/sdk";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { api } from "../../api/client.ts";
import { useSession } from "../../api/session.ts";
import { autoTopUpQuery } from "../../api/top-ups.ts";
import { walletPath } from "../../api/wallet.ts";
import { AmountInput } from "../../components/amount-input.tsx";
import { Meter } from "../../components/meter.tsx";
import { Section } from "../../components/page.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { InlineError, QueryState } from "../../components/states.tsx";
import { StatusBadge, type Tone } from "../../components/status-badge.tsx";
import { isLessThan } from "../../format/amounts.ts";
import { formatMoney } from "../../format/format-money.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { type AutoTopUpDraft, parseAutoTopUpDraft, toAutoTopUpDraft } from "./auto-top-up-draft.ts";
import classes from "./top-up.module.css";

export function AutomaticTopUp() {
  const { id } = useWallet();
  const auto = useQuery(autoTopUpQuery(id));
  return (
    <Section
      title="Automatic top-up"
      description="Charges a saved card when the balance is low, up to your monthly limit."
    >
      <QueryState query={auto} title="Couldn't load automatic top-up." rows={2} />
      {auto.data && <AutoTopUpSettings auto={auto.data} />}
    </Section>
  );
}

const states: Record<Exclude<AutoTopUp["state"], "none">, [Tone, string]> = {
  active: ["success", "On"],
  waiting_for_card: ["warning", "Waiting for a card. Your next top-up on this page saves one"],
  backing_off: ["warning", "Card declined. Retrying"],
  off: ["danger", "Off. The card was declined four times. Edit and save to turn it on again"],
};

function AutoTopUpSettings({ auto }: { auto: AutoTopUp }) {
  const { canEdit } = useWallet();
  const [isEditing, setIsEditing] = useState(false);
  if (isEditing) return <AutoTopUpForm auto={auto} onDone={() => setIsEditing(false)} />;
  if (auto.state === "none") {
    return (
      <Group>
        <Text size="sm">Off. When the balance runs out, searches are rejected until someone tops up.</Text>
        {canEdit && (
          <Button variant="default" onClick={() => setIsEditing(true)}>
            Set up
          </Button>
        )}
      </Group>
    );
  }
  return <AutoTopUpSummary auto={auto} state={auto.state} onEdit={() => setIsEditing(true)} />;
}

function AutoTopUpSummary(props: { auto: AutoTopUp; state: keyof typeof states; onEdit: () => void }) {
  const { auto, state, onEdit } = props;
  const { id, canEdit } = useWallet();
  const queries = useQueryClient();
  const disable = useMutation({
    mutationFn: () => api<AutoTopUp>(walletPath(id, "wallet/auto-top-up"), { method: "DELETE" }),
    onSuccess: () => queries.invalidateQueries(autoTopUpQuery(id)),
  });
  const [tone, label] = states[state];
  const { threshold, amount, monthly_cap: cap, added_this_month: added, next_attempt_at: next } = auto;
  return (
    <Stack gap="sm" maw={560}>
      <div>
        <StatusBadge tone={tone}>
          {label}
          {next !== null && state === "backing_off" && (
            <>
              {" "}
              <RelativeTime at={next} />
            </>
          )}
        </StatusBadge>
      </div>
      <Text>
        When the balance is below {formatMoney(threshold ?? "0")}, {formatMoney(amount ?? "0")} is added.
      </Text>
      {cap !== null && added !== null && (
        <div>
          <Text size="sm">
            {formatMoney(added)} of {formatMoney(cap)} added this month
          </Text>
          <Meter spent={added} limit={cap} isFull={!isLessThan(added, cap)} label="Added this month" />
        </div>
      )}
      {canEdit && (
        <Group gap="xs">
          <Button variant="default" onClick={onEdit}>
            Edit
          </Button>
          <Button variant="default" loading={disable.isPending} onClick={() => disable.mutate()}>
            Turn off and remove card
          </Button>
        </Group>
      )}
      <InlineError error={disable.error} />
    </Stack>
  );
}

function AutoTopUpForm({ auto, onDone }: { auto: AutoTopUp; onDone: () => void }) {
  const { id } = useWallet();
  const { top_up: limits } = useSession();
  const queries = useQueryClient();
  const [draft, setDraft] = useState(() => toAutoTopUpDraft(auto));
  const [errors, setErrors] = useState<Partial<AutoTopUpDraft>>({});
  const save = useMutation({
    mutationFn: (body: object) => api<AutoTopUp>(walletPath(id, "wallet/auto-top-up"), { method: "PUT", body }),
    onSuccess: async () => {
      await queries.invalidateQueries(autoTopUpQuery(id));
      onDone();
    },
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const { body, errors: found } = parseAutoTopUpDraft(draft, limits);
    setErrors(found);
    if (body) save.mutate(body);
  };
  const field = (name: keyof AutoTopUpDraft, label: string) => (
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
        {field("amount", "Amount to add")}
        {field("monthly", "Monthly limit (UTC)")}
      </div>
      <Text size="sm" c="dimmed" my="sm">
        The card you use for your next top-up on this page is saved by the payment processor.
      </Text>
      <InlineError error={save.error} />
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
