import { CloseButton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useMemo, useRef } from "react";
import type { RequestKind } from "../../api/searches.ts";
import type { Usage } from "../../api/usage.ts";
import { Chips } from "../../components/chips.tsx";
import { Section } from "../../components/page.tsx";
import { useTimeZone } from "../../components/use-time-zone.ts";
import { formatEndUser } from "../../format/format-end-user.ts";
import { useMode } from "../../layout/mode.tsx";
import { bucketMs, formatBucket, formatBucketZone } from "./format-bucket.ts";
import { kindNames, SearchList } from "./search-list.tsx";
import { formatOutcome } from "./series-label.ts";
import classes from "./usage.module.css";

const route = getRouteApi("/signed-in/w/$walletId/usage");
const filterNames = ["bucket", "key", "category", "outcome", "end_user", "run"] as const;
type FilterName = (typeof filterNames)[number];

/** The requests of the selected bar, or the latest ones. The selection is in the URL, so that it can be shared. */
export function SelectedSearches(props: {
  usage: Usage;
  by: "hour" | "day";
  /** The kind of the requests that the chart counts. */
  defaultKind: RequestKind;
  /** The end user that the whole page is filtered by. */
  endUser: string | undefined;
  keyNames: ReadonlyMap<string, string>;
}) {
  const { usage, by, defaultKind, endUser, keyNames } = props;
  const { mode } = useMode();
  const { zone } = useTimeZone();
  const search = route.useSearch();
  const { bucket, key, category, outcome, end_user: selectedUser = endUser, run } = search;
  const kind = kinds.find(({ value }) => value === search.kind)?.value ?? defaultKind;
  const navigate = route.useNavigate();
  const isSelected = filterNames.some((name) => search[name] !== undefined);
  const selection = JSON.stringify([bucket, key, category, outcome, search.end_user, run, search.kind]);
  const section = useScrollOnChange(isSelected ? selection : undefined);
  const filter = useMemo(
    () => ({
      kind,
      mode,
      key_id: key,
      category,
      outcome,
      for: selectedUser,
      run,
      ...rangeOf(bucket, by, run === undefined ? usage.from : undefined),
    }),
    [kind, mode, key, category, outcome, selectedUser, run, bucket, by, usage.from],
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
        title={isSelected ? kindNames[kind].title : `Latest ${kindNames[kind].title.toLowerCase()}`}
        actions={filterNames.map((name) => {
          const value = search[name];
          return value === undefined ? undefined : <Filter key={name} name={name} text={texts[name](value)} />;
        })}
      >
        <div className={classes.kinds}>
          <Chips
            label="Kind"
            value={kind}
            options={kinds}
            // Refusals and replays have no category, and other outcomes than searches.
            onChange={(value) =>
              navigate({
                search: (before) => ({ ...before, kind: value, category: undefined, outcome: undefined }),
                replace: true,
                resetScroll: false,
              })
            }
          />
        </div>
        <SearchList filter={filter} />
      </Section>
    </div>
  );
}

const kinds = [
  { value: "search", label: "Searches" },
  { value: "refused", label: "Refusals" },
  { value: "replayed", label: "Replays" },
  { value: "all", label: "All requests" },
] as const;

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
