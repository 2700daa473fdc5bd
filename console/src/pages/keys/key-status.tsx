import { Text } from "@mantine/core";
import type { Key } from "@pennyblack/sdk";
import { RelativeTime } from "../../components/relative-time.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { useNow } from "../../components/use-now.ts";
import { useTimeZone } from "../../components/use-time-zone.ts";
import { formatRemaining } from "../../format/format-remaining.ts";
import { formatExact } from "../../format/format-time.ts";
import { readBudget } from "./budget.ts";

const revokedReasons = {
  owner: "by you or your team",
  operator: "by the operator",
  leaked: "because it leaked",
  account_deleted: "because the account was deleted",
} as const;

export function KeyStatus({ apiKey, price, successor }: { apiKey: Key; price: string; successor: Key | undefined }) {
  const { state, revoked_at: revokedAt, revoked_reason: reason, expires_at: expiresAt } = apiKey;
  if (state === "revoked") {
    return (
      <>
        <StatusBadge tone={reason === "leaked" ? "danger" : "neutral"}>Revoked</StatusBadge>
        <Text size="xs" c="dimmed">
          {revokedAt !== null && <RelativeTime at={revokedAt} />} {reason !== null && revokedReasons[reason]}
        </Text>
      </>
    );
  }
  if (state === "expired") {
    return (
      <>
        <StatusBadge tone="neutral">Expired</StatusBadge>
        <Text size="xs" c="dimmed">
          {expiresAt !== null && <RelativeTime at={expiresAt} />}
        </Text>
      </>
    );
  }
  if (successor && expiresAt !== null) return <ReplacedStatus until={expiresAt} successor={successor} />;
  if (readBudget(apiKey, price).some(({ isSpent }) => isSpent))
    return <StatusBadge tone="danger">Budget spent</StatusBadge>;
  return (
    <>
      <StatusBadge tone="success">Active</StatusBadge>
      {expiresAt !== null && (
        <Text size="xs" c="dimmed">
          expires <RelativeTime at={expiresAt} />
        </Text>
      )}
    </>
  );
}

function ReplacedStatus({ until, successor }: { until: string; successor: Key }) {
  return (
    <>
      <StatusBadge tone="warning">
        <Countdown until={until} before="Expires in" after="Expired" />
      </StatusBadge>
      <Text size="xs" c="dimmed">
        replaced by <span className="mono">{successor.start}…</span>
      </Text>
    </>
  );
}

/** Time until a rotated key expires. */
export function Countdown({ until, before, after }: { until: string; before: string; after: string }) {
  const now = useNow(1_000);
  const { zone } = useTimeZone();
  const date = new Date(until);
  const remaining = formatRemaining(date, now);
  return (
    <time dateTime={until} title={formatExact(date, zone)}>
      {remaining === undefined ? after : `${before} ${remaining}`}
    </time>
  );
}
