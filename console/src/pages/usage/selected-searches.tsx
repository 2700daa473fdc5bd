import { CloseButton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo, useRef } from "react";
import type { Usage } from "../../api/usage.ts";
import { Section } from "../../components/page.tsx";
import { useTimeZone } from "../../components/use-time-zone.ts";
import { formatEndUser } from "../../format/format-end-user.ts";
import { useMode } from "../../layout/mode.tsx";
import { bucketMs, formatBucket, formatBucketZone } from "./format-bucket.ts";
import { SearchList } from "./search-list.tsx";
import { formatOutcome } from "./series-label.ts";
import classes from "./usage.module.css";

const route = getRouteApi("/signed-in/w/$walletId/usage");
const filterNames = ["bucket", "key", "category", "outcome", "end_user", "run"] as const;
type FilterName = (typeof filterNames)[number];

/** The searches of the selected bar, or the latest ones. The selection is in the URL, so that it can be shared. */
export function SelectedSearches(props: {
  usage: Usage;
  by: "hour" | "day";
  /** The end user that the whole page is filtered by. */
  endUser: string | undefined;
  keyNames: ReadonlyMap<string, string>;
}) {
  const { usage, by, endUser, keyNames } = props;
  const { mode } = useMode();
  const { zone } = useTimeZone();
  const search = route.useSearch();
  const { bucket, key, category, outcome, end_user: selectedUser = endUser, run } = search;
  const isSelected = filterNames.some((name) => search[name] !== undefined);
  const selection = JSON.stringify([bucket, key, category, outcome, search.end_user, run]);
  const section = useScrollOnChange(isSelected ? selection : undefined);
  const filter = useMemo(
    () => ({
      mode,
      key_id: key,
      category,
      outcome,
      for: selectedUser,
      run,
      ...rangeOf(bucket, by, run === undefined ? usage.from : undefined),
    }),
    [mode, key, category, outcome, selectedUser, run, bucket, by, usage.from],
  );
  const texts: Record<FilterName, (value: string) => string> = {
    bucket: (start) => `${formatBucket(start, by, zone)} ${formatBucketZone(start, by, zone)}`,
    key: (id) => `Key: ${keyNames.get(id) ?? id}`,
    category: (name) => (name === "none" ? "No category" : `Category: ${name}`),
    outcome: (name) => `Outcome: ${formatOutcome(name)}`,
    end_user: (id) => `End user: ${formatEndUser(id)}`,
    run: (name) => `Run: ${name}`,
  };
  return (
    <div ref={section} tabIndex={-1} className={classes.selected}>
      <Section
        title={isSelected ? "Searches" : "Latest searches"}
        actions={filterNames.map((name) => {
          const value = search[name];
          return value === undefined ? undefined : <Filter key={name} name={name} text={texts[name](value)} />;
        })}
      >
        <SearchList filter={filter} />
      </Section>
    </div>
  );
}

function Filter({ name, text }: { name: FilterName; text: string }) {
  const navigate = route.useNavigate();
  return (
    <span className={classes.filter}>
      {text}
      <CloseButton
        size="xs"
        aria-label={`Remove filter ${text}`}
        onClick={() => navigate({ search: (before) => ({ ...before, [name]: undefined }), resetScroll: false })}
      />
    </span>
  );
}

function rangeOf(bucket: string | undefined, by: "hour" | "day", from: string | undefined) {
  const start = bucket === undefined ? Number.NaN : Date.parse(bucket);
  if (Number.isNaN(start)) return { from };
  return { from: new Date(start).toISOString(), to: new Date(start + bucketMs[by]).toISOString() };
}

/** Brings the list into view, and moves the focus there, when another bar is selected. */
function useScrollOnChange(selection: string | undefined) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (selection === undefined) return;
    element.current?.scrollIntoView({ block: "nearest" });
    element.current?.focus({ preventScroll: true });
  }, [selection]);
  return element;
}
