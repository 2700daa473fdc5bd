import { Button, Chip, Group, NativeSelect, NumberInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { SubmitEvent } from "react";
import type { Key } from "../../api/keys.ts";
import type { Category, Question } from "../../api/playground.ts";
import { type Mode, walletQuery } from "../../api/wallet.ts";
import { formatMoney } from "../../words/format-money.ts";
import classes from "./playground.module.css";

const kinds: [Category | "any", string][] = [
  ["any", "Any"],
  ["programming", "Programming"],
  ["research", "Research"],
  ["gov", "Government"],
  ["business", "Business"],
];

export function AskForm(props: {
  mode: Mode;
  walletId: string;
  keys: Key[];
  question: Question;
  change: {
    query: (query: string) => void;
    category: (category: Category | undefined) => void;
    n: (n: number) => void;
    keyId: (id: string) => void;
  };
  isBusy: boolean;
  ask: () => void;
}) {
  const { mode, walletId, keys, question, change, isBusy, ask } = props;
  const price = useQuery(walletQuery(walletId)).data?.price ?? "0.01";
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (question.query.trim() !== "" && !isBusy) ask();
  };
  return (
    <form onSubmit={submit} className={classes.form}>
      <div className={classes.ask}>
        {/* The browser is not to remember queries either. */}
        <TextInput
          aria-label="Query"
          placeholder="What do you want to find?"
          size="xl"
          name="query"
          autoComplete="off"
          required
          maxLength={2_048}
          className={classes.query}
          value={question.query}
          onChange={(event) => change.query(event.currentTarget.value)}
        />
        <Button type="submit" size="xl" loading={isBusy}>
          {mode === "live" ? `Search for ${formatMoney(price)}` : "Search, free"}
        </Button>
      </div>
      <div className={classes.options}>
        <fieldset className={classes.kinds}>
          <legend>Kind of source</legend>
          <Chip.Group
            value={question.category ?? "any"}
            onChange={(value) => change.category(value === "any" ? undefined : value)}
          >
            <Group gap={8}>
              {kinds.map(([value, label]) => (
                <Chip key={value} value={value} size="sm" variant="outline">
                  {label}
                </Chip>
              ))}
            </Group>
          </Chip.Group>
        </fieldset>
        <NumberInput
          label="Results"
          size="sm"
          w={88}
          min={1}
          max={20}
          clampBehavior="strict"
          allowDecimal={false}
          value={question.n}
          onChange={(value) => change.n(Number(value) || 1)}
        />
        <NativeSelect
          label="Key"
          size="sm"
          className={classes.key}
          value={question.keyId}
          onChange={(event) => change.keyId(event.currentTarget.value)}
          data={keys.map(({ id, name, start }) => ({ value: id, label: `${name} (${start}…)` }))}
        />
      </div>
    </form>
  );
}
