import { Button, CloseButton, TextInput } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { Chips } from "../../components/chips.tsx";
import { formatEndUser } from "../../format/format-end-user.ts";
import { useMode } from "../../layout/mode.tsx";
import { measures, measuresOf } from "./measure.ts";
import { isEndUser, type UsageView } from "./parse-view.ts";
import classes from "./usage.module.css";

const route = getRouteApi("/signed-in/w/$walletId/usage");

/** The choices of the page. They are in the URL, so that a view can be shared. */
export function Controls({ view }: { view: UsageView }) {
  const { mode } = useMode();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { range, ranges, days, by, group, endUser } = view;
  const setSearch = (change: Partial<typeof search>): Promise<void> =>
    // A selected bar may not exist in another period or interval.
    navigate({ search: (before) => ({ ...before, bucket: undefined, ...change }), replace: true });
  const names = measuresOf(mode, group);
  const hasHours = group !== "end_user" && days > 1 && days <= 30;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button
        className={classes.filterToggle ?? ""}
        variant="default"
        size="xs"
        mb="sm"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        {isOpen ? "Hide filters" : `Filters: ${describeView(view)}`}
      </Button>
      <div className={classes.controls} data-open={isOpen || undefined}>
        <Chips label="Period" value={range} options={ranges} onChange={(value) => setSearch({ span: value })} />
        <Chips
          label="Interval"
          value={by}
          options={hasHours ? bucketOptions : bucketOptions.filter(({ value }) => value === by)}
          onChange={(value) => setSearch({ by: value })}
        />
        <Chips
          label="Group by"
          value={group ?? "all"}
          options={groupOptions}
          onChange={(value) =>
            setSearch({ group: value === "all" ? undefined : value, for: undefined, end_user: undefined })
          }
        />
        {names.length > 1 && (
          <Chips
            label="Metric"
            value={names.find((name) => name === search.measure) ?? "searches"}
            options={names.map((name) => ({ value: name, label: measures[name].label }))}
            onChange={(value) => setSearch({ measure: value, kind: undefined })}
          />
        )}
        {group === "end_user" && (
          <EndUserFilter
            key={endUser}
            endUser={endUser}
            onChange={(value) => setSearch({ for: value, group: "end_user", end_user: undefined })}
          />
        )}
      </div>
    </>
  );
}

function describeView({ range, ranges, by, group }: UsageView): string {
  const period = ranges.find(({ value }) => value === range)?.label ?? range;
  const names = [bucketOptions.find(({ value }) => value === by), groupOptions.find(({ value }) => value === group)];
  return [period, ...names.flatMap((option) => (option ? [`by ${option.label.toLowerCase()}`] : []))].join(", ");
}

const bucketOptions = [
  { value: "day", label: "Day" },
  { value: "hour", label: "Hour" },
] as const;
const groupOptions = [
  { value: "all", label: "None" },
  { value: "key", label: "Key" },
  { value: "category", label: "Category" },
  { value: "outcome", label: "Outcome" },
  { value: "end_user", label: "End user" },
] as const;

/** Takes the id that the caller sends in `Search-For`; the server hashes it. A hash from this page works too. */
function EndUserFilter(props: { endUser: string | undefined; onChange: (endUser: string | undefined) => void }) {
  const { endUser, onChange } = props;
  const [text, setText] = useState(endUser ?? "");
  const [isInvalid, setIsInvalid] = useState(false);
  return (
    <form
      className={classes.endUser}
      onSubmit={(event) => {
        event.preventDefault();
        const id = text.trim();
        setIsInvalid(id !== "" && !isEndUser(id));
        if (id === "" || isEndUser(id)) onChange(id === "" ? undefined : id);
      }}
    >
      <TextInput
        size="xs"
        aria-label="End user"
        description="The ID that your program sends in Search-For. IDs are stored as hashes unless you chose otherwise. Enter either your own ID or its hash."
        placeholder="Show one end user: ID, then Enter"
        value={text}
        error={isInvalid && "Use 1 to 64 letters, digits or any of _.:@/+=|-"}
        onChange={(event) => setText(event.currentTarget.value)}
        rightSection={
          endUser !== undefined && (
            <CloseButton
              size="xs"
              aria-label={`Remove filter End user: ${formatEndUser(endUser)}`}
              onClick={() => onChange(undefined)}
            />
          )
        }
      />
    </form>
  );
}
