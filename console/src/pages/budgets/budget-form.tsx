import { NativeSelect, Radio, Stack, Text, TextInput } from "@mantine/core";
import type { Budget } from "@pennyblack/sdk";
import { AmountInput } from "../../components/amount-input.tsx";
import { type BudgetDraft, type BudgetErrors, choosePer } from "./budget-draft.ts";

interface Props {
  draft: BudgetDraft;
  errors: BudgetErrors;
  /** What was spent before an edit. */
  hint?: string;
  isNew: boolean;
  onChange: (draft: BudgetDraft) => void;
}

const periods: { value: Budget["period"]; label: string }[] = [
  { value: "day", label: "Per day" },
  { value: "week", label: "Per week" },
  { value: "month", label: "Per month" },
  { value: "total", label: "Total, without a reset" },
];

export function BudgetForm({ draft, errors, hint, isNew, onChange }: Props) {
  return (
    <Stack gap="md">
      <TextInput
        label="Name"
        placeholder="Research team"
        value={draft.name}
        error={errors.name}
        maxLength={100}
        data-autofocus
        onChange={(event) => onChange({ ...draft, name: event.currentTarget.value })}
      />
      {isNew && <ScopeFields draft={draft} onChange={onChange} />}
      <AmountInput
        label={draft.per === "end_user" ? "Amount for each end user" : "Amount"}
        description={hint}
        value={draft.amount}
        error={errors.amount}
        onChange={(amount) => onChange({ ...draft, amount })}
      />
      {draft.per === "wallet" && (
        <TextInput
          label="Warn at (percent)"
          description="At most once each per period. Leave empty for no warnings."
          placeholder="No warnings"
          value={draft.alerts}
          error={errors.alerts}
          onChange={(event) => onChange({ ...draft, alerts: event.currentTarget.value })}
        />
      )}
      {!isNew && (
        <Text size="xs" c="dimmed">
          The period cannot be changed. To use another one, create a budget and choose it in the settings of your keys.
        </Text>
      )}
    </Stack>
  );
}

function ScopeFields({ draft, onChange }: Pick<Props, "draft" | "onChange">) {
  const choices = periods.filter(({ value }) => draft.per === "wallet" || value !== "total");
  return (
    <>
      <Radio.Group
        label="Applies to"
        value={draft.per}
        onChange={(per) => onChange(choosePer(draft, per === "end_user" ? "end_user" : "wallet"))}
      >
        <Stack gap="xs" mt={6}>
          <Radio value="wallet" label="All searches of its keys together" />
          <Radio
            value="end_user"
            label="Each end user separately"
            description="Every search of its keys must name an end user in the header Search-For."
          />
        </Stack>
      </Radio.Group>
      <NativeSelect
        label="Period"
        description="Days, weeks (from Monday) and months are in UTC."
        data={choices}
        value={draft.period}
        onChange={(event) => {
          const period = choices.find(({ value }) => value === event.currentTarget.value)?.value ?? draft.period;
          onChange({ ...draft, period });
        }}
      />
    </>
  );
}
