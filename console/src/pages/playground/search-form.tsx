import { Button, Chip, Group, NativeSelect, NumberInput, TextInput } from "@mantine/core";
import type { Category, Key } from "@pennyblack/sdk";
import { useQuery } from "@tanstack/react-query";
import type { SubmitEvent } from "react";
import type { SearchInput } from "../../api/playground.ts";
import { type Mode, walletQuery } from "../../api/wallet.ts";
import { formatMoney } from "../../format/format-money.ts";
import classes from "./playground.module.css";

const categories: [Category | "any", string][] = [
  ["any", "Any"],
  ["programming", "Programming"],
  ["research", "Research"],
  ["gov", "Government"],
  ["business", "Business"],
];

export function SearchForm(props: {
  mode: Mode;
  walletId: string;
  keys: Key[];
  input: SearchInput;
  onChange: {
    query: (query: string) => void;
    category: (category: Category | undefined) => void;
    n: (n: number) => void;
    keyId: (id: string) => void;
  };
  isBusy: boolean;
  onSearch: () => void;
}) {
  const { mode, walletId, keys, input, onChange, isBusy, onSearch } = props;
  const price = useQuery(walletQuery(walletId)).data?.price ?? "0.01";
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (input.query.trim() !== "" && !isBusy) onSearch();
  };
  return (
    <form onSubmit={submit} className={classes.form}>
      <div className={classes.searchRow}>
        {/* Queries must not be saved in the browser's autocomplete. */}
        <TextInput
          aria-label="Query"
          placeholder="What do you want to find?"
          size="xl"
          name="query"
          autoComplete="off"
          required
          maxLength={2_048}
          className={classes.query}
          value={input.query}
          onChange={(event) => onChange.query(event.currentTarget.value)}
        />
        <Button type="submit" size="xl" loading={isBusy}>
          {mode === "live" ? `Search for ${formatMoney(price)}` : "Search (free)"}
        </Button>
      </div>
      <div className={classes.options}>
        <fieldset className={classes.categories}>
          <legend>Category</legend>
          <Chip.Group
            value={input.category ?? "any"}
            onChange={(value) => onChange.category(value === "any" ? undefined : value)}
          >
            <Group gap={8}>
              {categories.map(([value, label]) => (
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
          value={input.n}
          onChange={(value) => onChange.n(Number(value) || 1)}
        />
        <NativeSelect
          label="Key"
          size="sm"
          className={classes.key}
          value={input.keyId}
          onChange={(event) => onChange.keyId(event.currentTarget.value)}
          data={keys.map(({ id, name, start }) => ({ value: id, label: `${name} (${start}…)` }))}
        />
      </div>
    </form>
  );
}
