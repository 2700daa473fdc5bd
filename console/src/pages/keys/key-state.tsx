import { Text } from "@mantine/core";
import type { Key } from "../../api/keys.ts";
import { Moment } from "../../parts/moment.tsx";
import { StateWord } from "../../parts/state-word.tsx";
import { useNow } from "../../parts/use-now.ts";
import { formatLeft } from "../../words/format-left.ts";
import { formatExact } from "../../words/format-time.ts";
import { readBudget } from "./budget.ts";

const reasons = {
  owner: "by you or your team",
  operator: "by the operator",
  leaked: "because it was found in public",
  account_deleted: "with the account",
} as const;

export function KeyState({ apiKey, price, heir }: { apiKey: Key; price: string; heir: Key | undefined }) {
  const { state, revoked_at: revokedAt, revoked_reason: reason, expires_at: expiresAt } = apiKey;
  if (state === "revoked") {
    return (
      <>
        <StateWord tone={reason === "leaked" ? "danger" : "quiet"}>Revoked</StateWord>
        <Text size="xs" c="dimmed">
          {revokedAt !== null && <Moment at={revokedAt} />} {reason !== null && reasons[reason]}
        </Text>
      </>
    );
  }
  if (state === "expired") {
    return (
      <>
        <StateWord tone="quiet">Expired</StateWord>
        <Text size="xs" c="dimmed">
          {expiresAt !== null && <Moment at={expiresAt} />}
        </Text>
      </>
    );
  }
  if (heir && expiresAt !== null) return <Ending until={expiresAt} heir={heir} />;
  if (readBudget(apiKey, price).some(({ isSpent }) => isSpent))
    return <StateWord tone="danger">Budget spent</StateWord>;
  return (
    <>
      <StateWord tone="success">Active</StateWord>
      {expiresAt !== null && (
        <Text size="xs" c="dimmed">
          ends <Moment at={expiresAt} />
        </Text>
      )}
    </>
  );
}

function Ending({ until, heir }: { until: string; heir: Key }) {
  return (
    <>
      <StateWord tone="warning">
        <Countdown until={until} before="Ends in" after="Ended" />
      </StateWord>
      <Text size="xs" c="dimmed">
        replaced by <span className="mono">{heir.start}…</span>
      </Text>
    </>
  );
}

/** How long a key that was rotated away still works. */
export function Countdown({ until, before, after }: { until: string; before: string; after: string }) {
  const now = useNow(1_000);
  const moment = new Date(until);
  const left = formatLeft(moment, now);
  return (
    <time dateTime={until} title={formatExact(moment)}>
      {left === undefined ? after : `${before} ${left}`}
    </time>
  );
}
