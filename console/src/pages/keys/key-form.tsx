import {
  Anchor,
  Checkbox,
  Collapse,
  NativeSelect,
  Radio,
  Stack,
  Text,
  Textarea,
  TextInput,
  UnstyledButton,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { budgetsQuery } from "../../api/budgets.ts";
import type { BudgetPeriod } from "../../api/keys.ts";
import { AmountInput } from "../../components/amount-input.tsx";
import { formatMoney } from "../../format/format-money.ts";
import { useWallet } from "../../layout/use-wallet.ts";
import { describeBudget } from "./budget.ts";
import type { KeyDraft, KeyErrors } from "./key-draft.ts";
import classes from "./keys.module.css";
import { SourceFields } from "./source-fields.tsx";

interface Props {
  draft: KeyDraft;
  errors: KeyErrors;
  isNew: boolean;
  onChange: (draft: KeyDraft) => void;
}

const modes = [
  { value: "live", label: "Live", description: "Searches the web. Each successful search costs one cent." },
  { value: "test", label: "Test", description: "Free, with synthetic results. For development and tests." },
  {
    value: "mgmt",
    label: "Management",
    description: "Cannot search. Manages keys, alerts and webhooks, and reads the ledger.",
  },
] as const;

export function KeyForm(props: Props) {
  const { draft, errors, isNew, onChange } = props;
  return (
    <Stack gap="md">
      <TextInput
        label="Name"
        placeholder="Production"
        value={draft.name}
        error={errors.name}
        maxLength={100}
        data-autofocus
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
      />
      {isNew && (
        <Radio.Group label="Mode" value={draft.mode} onChange={(mode) => onChange({ ...draft, mode, budgets: [] })}>
          <Stack gap="xs" mt={6}>
            {modes.map((mode) => (
              <Radio key={mode.value} {...mode} />
            ))}
          </Stack>
        </Radio.Group>
      )}
      {draft.mode !== "mgmt" && <BudgetFields {...props} />}
      {draft.mode !== "mgmt" && <SharedBudgetFields {...props} />}
      <AdvancedSection {...props} />
    </Stack>
  );
}

const periods: [BudgetPeriod, string][] = [
  ["day", "Per day"],
  ["month", "Per month"],
  ["total", "Total"],
];

/** 500 searches: enough for most programs, and little if one runs in a loop. */
const suggestedDay = "5";

function BudgetFields({ draft, errors, isNew, onChange }: Props) {
  const isEmpty = Object.values(draft.budget).every((text) => text === "");
  return (
    <div role="group" aria-label="Budget">
      <Text size="sm" fw={600}>
        Budget
      </Text>
      <Text size="xs" c="dimmed" mb={6}>
        Rejects searches over budget. Leave empty for no limit. Days and months in UTC.
      </Text>
      <div className={classes.periods}>
        {periods.map(([period, label]) => (
          <AmountInput
            key={period}
            label={label}
            placeholder="No limit"
            value={draft.budget[period]}
            error={errors[period]}
            onChange={(text) => onChange({ ...draft, budget: { ...draft.budget, [period]: text } })}
          />
        ))}
      </div>
      {isNew && isEmpty && (
        <Anchor
          component="button"
          type="button"
          size="sm"
          mt={6}
          onClick={() => onChange({ ...draft, budget: { ...draft.budget, day: suggestedDay } })}
        >
          Suggested: {formatMoney(suggestedDay)} per day
        </Anchor>
      )}
    </div>
  );
}

/** As many as the API accepts. */
const maxBudgets = 8;

function SharedBudgetFields({ draft, onChange }: Props) {
  const { id } = useWallet();
  const budgets = useQuery(budgetsQuery(id)).data?.filter(({ mode }) => mode === draft.mode) ?? [];
  if (budgets.length === 0) return undefined;
  const isFull = draft.budgets.length >= maxBudgets;
  return (
    <Checkbox.Group
      label="Shared budgets"
      description={`A search must fit into each of them. Up to ${maxBudgets}.`}
      value={draft.budgets}
      onChange={(chosen) => onChange({ ...draft, budgets: chosen })}
    >
      <Stack gap="xs" mt={6} className={classes.choices ?? ""}>
        {budgets.map(({ id: budgetId, name, ...budget }) => (
          <Checkbox
            key={budgetId}
            value={budgetId}
            label={name}
            description={describeBudget(budget)}
            disabled={isFull && !draft.budgets.includes(budgetId)}
          />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}

function AdvancedSection(props: Props) {
  const { draft, errors } = props;
  const { endUserLimit, maxRun, expires, ips, block, only, perSecond, inFlight } = draft;
  const advanced = [endUserLimit.amount, maxRun.max, expires, ips, block, only, perSecond, inFlight];
  const hasAdvanced = advanced.some((text) => text !== "");
  const [isOpen, setIsOpen] = useState(hasAdvanced);
  const isShown =
    isOpen ||
    ["endUserLimit", "maxRun", "expires", "ips", "block", "only", "perSecond", "inFlight"].some(
      (field) => field in errors,
    );
  return (
    <div>
      <UnstyledButton fz="sm" c="var(--pb-accent)" aria-expanded={isShown} onClick={() => setIsOpen(!isOpen)}>
        {isShown ? "Hide advanced options" : "Advanced: end users, runs, expiry, IP addresses, domains, rate limits"}
      </UnstyledButton>
      <Collapse expanded={isShown}>
        <AdvancedFields {...props} />
      </Collapse>
    </div>
  );
}

function AdvancedFields({ draft, errors, isNew, onChange }: Props) {
  return (
    <Stack gap="md" pt="md">
      {draft.mode !== "mgmt" && <EndUserFields draft={draft} errors={errors} onChange={onChange} isNew={isNew} />}
      {draft.mode !== "mgmt" && <RunFields draft={draft} errors={errors} onChange={onChange} isNew={isNew} />}
      <TextInput
        type="datetime-local"
        label="Expires"
        description="In your time zone. Leave empty for no expiry."
        value={draft.expires}
        error={errors.expires}
        onChange={(event) => onChange({ ...draft, expires: event.currentTarget.value })}
      />
      <Textarea
        label="Allowed IP addresses"
        description="IP addresses or ranges, one per line. Leave empty to allow any."
        placeholder={"203.0.113.7\n2001:db8::/32"}
        autosize
        minRows={2}
        classNames={{ input: "mono" }}
        value={draft.ips}
        error={errors.ips}
        onChange={(event) => onChange({ ...draft, ips: event.currentTarget.value })}
      />
      {draft.mode !== "mgmt" && <SourceFields draft={draft} errors={errors} onChange={onChange} />}
      {draft.mode !== "mgmt" && <LimitFields draft={draft} errors={errors} onChange={onChange} isNew={isNew} />}
    </Stack>
  );
}

function EndUserFields({ draft, errors, onChange }: Props) {
  const { endUserLimit } = draft;
  return (
    <div role="group" aria-label="Limit per end user">
      <Text size="sm" fw={600}>
        Limit per end user
      </Text>
      <Text size="xs" c="dimmed" mb={6}>
        Leave empty for no limit. With a limit, every search must name its end user in the header Search-For.
      </Text>
      <div className={classes.periods}>
        <AmountInput
          label="Each end user"
          placeholder="No limit"
          value={endUserLimit.amount}
          error={errors.endUserLimit}
          onChange={(amount) => onChange({ ...draft, endUserLimit: { ...endUserLimit, amount } })}
        />
        <NativeSelect
          label="Period"
          data={[
            { value: "day", label: "Per day" },
            { value: "month", label: "Per month" },
          ]}
          value={endUserLimit.period}
          onChange={(event) => {
            const period = event.currentTarget.value === "month" ? "month" : "day";
            onChange({ ...draft, endUserLimit: { ...endUserLimit, period } });
          }}
        />
      </div>
    </div>
  );
}

function RunFields({ draft, errors, onChange }: Props) {
  const { maxRun } = draft;
  return (
    <div role="group" aria-label="Runs">
      <Text size="sm" fw={600}>
        Runs
      </Text>
      <Text size="xs" c="dimmed" mb={6}>
        The largest budget that a program can give to one of its tasks, in the header Search-Run. Leave empty for no
        limit.
      </Text>
      <div className={classes.periods}>
        <AmountInput
          label="Each run"
          placeholder="No limit"
          value={maxRun.max}
          error={errors.maxRun}
          onChange={(max) => onChange({ ...draft, maxRun: { ...maxRun, max } })}
        />
      </div>
      <Checkbox
        mt="xs"
        label="Require a run for each search"
        checked={maxRun.required}
        onChange={(event) => onChange({ ...draft, maxRun: { ...maxRun, required: event.currentTarget.checked } })}
      />
    </div>
  );
}

function LimitFields({ draft, errors, isNew, onChange }: Props) {
  return (
    <>
      <div className={classes.periods}>
        <TextInput
          label="Searches per second"
          placeholder="1000"
          inputMode="numeric"
          value={draft.perSecond}
          error={errors.perSecond}
          onChange={(event) => onChange({ ...draft, perSecond: event.currentTarget.value })}
        />
        <TextInput
          label="Concurrent searches"
          placeholder="1000"
          inputMode="numeric"
          value={draft.inFlight}
          error={errors.inFlight}
          onChange={(event) => onChange({ ...draft, inFlight: event.currentTarget.value })}
        />
      </div>
      {isNew && (
        <Checkbox
          label="Can also read the balance and the ledger"
          checked={draft.canReadWallet}
          onChange={(event) => onChange({ ...draft, canReadWallet: event.currentTarget.checked })}
        />
      )}
    </>
  );
}
