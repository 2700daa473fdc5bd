import { Checkbox, Collapse, Radio, Stack, Text, Textarea, TextInput, UnstyledButton } from "@mantine/core";
import { useState } from "react";
import type { BudgetTerm } from "../../api/keys.ts";
import { AmountInput } from "../../parts/amount-input.tsx";
import type { KeyDraft, KeyErrors } from "./key-draft.ts";
import classes from "./keys.module.css";

interface Props {
  draft: KeyDraft;
  errors: KeyErrors;
  isNew: boolean;
  onChange: (draft: KeyDraft) => void;
}

const modes = [
  { value: "live", label: "Live", description: "Searches the web, a cent for each that works." },
  { value: "test", label: "Test", description: "Made-up results, free. For tests and for trying out." },
  { value: "mgmt", label: "Management", description: "Does not search: makes keys, reads the ledger, sets alerts." },
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
        <Radio.Group label="Mode" value={draft.mode} onChange={(mode) => onChange({ ...draft, mode })}>
          <Stack gap="xs" mt={6}>
            {modes.map((mode) => (
              <Radio key={mode.value} {...mode} />
            ))}
          </Stack>
        </Radio.Group>
      )}
      {draft.mode !== "mgmt" && <BudgetFields {...props} />}
      <More {...props} />
    </Stack>
  );
}

const terms: [BudgetTerm, string][] = [
  ["day", "A day"],
  ["month", "A month"],
  ["total", "In all"],
];

function BudgetFields({ draft, errors, onChange }: Props) {
  return (
    <div role="group" aria-label="Budget">
      <Text size="sm" fw={600}>
        Budget
      </Text>
      <Text size="xs" c="dimmed" mb={6}>
        The key refuses searches before it would spend more. Empty: no limit. Days and months are UTC.
      </Text>
      <div className={classes.terms}>
        {terms.map(([term, label]) => (
          <AmountInput
            key={term}
            label={label}
            placeholder="no limit"
            value={draft.budget[term]}
            error={errors[term]}
            onChange={(text) => onChange({ ...draft, budget: { ...draft.budget, [term]: text } })}
          />
        ))}
      </div>
    </div>
  );
}

function More(props: Props) {
  const { draft, errors } = props;
  const hasMore = draft.expires !== "" || draft.ips !== "" || draft.perSecond !== "" || draft.inFlight !== "";
  const [isOpen, setIsOpen] = useState(hasMore);
  const isShown = isOpen || ["expires", "ips", "perSecond", "inFlight"].some((field) => field in errors);
  return (
    <div>
      <UnstyledButton fz="sm" c="var(--pb-accent)" aria-expanded={isShown} onClick={() => setIsOpen(!isOpen)}>
        {isShown ? "Less" : "More: expiry, addresses, limits"}
      </UnstyledButton>
      <Collapse expanded={isShown}>
        <MoreFields {...props} />
      </Collapse>
    </div>
  );
}

function MoreFields({ draft, errors, isNew, onChange }: Props) {
  return (
    <Stack gap="md" pt="md">
      <TextInput
        type="datetime-local"
        label="Expires"
        description="In your time zone. Empty: never."
        value={draft.expires}
        error={errors.expires}
        onChange={(event) => onChange({ ...draft, expires: event.currentTarget.value })}
      />
      <Textarea
        label="Allowed addresses"
        description="IP addresses or ranges, one to a line. Empty: from anywhere."
        placeholder={"203.0.113.7\n2001:db8::/32"}
        autosize
        minRows={2}
        classNames={{ input: "mono" }}
        value={draft.ips}
        error={errors.ips}
        onChange={(event) => onChange({ ...draft, ips: event.currentTarget.value })}
      />
      {draft.mode !== "mgmt" && <LimitFields draft={draft} errors={errors} onChange={onChange} isNew={isNew} />}
    </Stack>
  );
}

function LimitFields({ draft, errors, isNew, onChange }: Props) {
  return (
    <>
      <div className={classes.terms}>
        <TextInput
          label="Searches a second"
          placeholder="1000"
          inputMode="numeric"
          value={draft.perSecond}
          error={errors.perSecond}
          onChange={(event) => onChange({ ...draft, perSecond: event.currentTarget.value })}
        />
        <TextInput
          label="Searches at once"
          placeholder="1000"
          inputMode="numeric"
          value={draft.inFlight}
          error={errors.inFlight}
          onChange={(event) => onChange({ ...draft, inFlight: event.currentTarget.value })}
        />
      </div>
      {isNew && (
        <Checkbox
          label="May also read the balance and the ledger"
          checked={draft.mayReadWallet}
          onChange={(event) => onChange({ ...draft, mayReadWallet: event.currentTarget.checked })}
        />
      )}
    </>
  );
}
