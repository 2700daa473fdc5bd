import { Button, Group, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api } from "../api/client.ts";
import { Section } from "../components/page.tsx";
import { ExactTime } from "../components/relative-time.tsx";
import { InlineError } from "../components/states.tsx";
import { formatSignedMoney } from "../format/format-money.ts";
import { formatMs } from "../format/format-time.ts";
import { describeSearch } from "../pages/search/describe-search.ts";
import classes from "../pages/search/search.module.css";
import { Timeline } from "../pages/search/timeline.tsx";
import { AccountLink } from "./account-link.tsx";
import type { FoundRequest, FoundWallet } from "./queries.ts";

/** One request: its outcome, its charge, its owner and the duration of each step. */
export function FoundRequestDetails(props: {
  request: FoundRequest;
  wallet: FoundWallet | undefined;
  /** The internal listener of another cell. */
  consoleUrl: string;
}) {
  const { request, wallet, consoleUrl } = props;
  const { charge, result } = describeSearch(request);
  const isRefundable = request.state === "captured" && request.mode === "live" && consoleUrl === "";
  const isRefunded = request.entries.some(({ kind }) => kind === "refund");
  return (
    <Section title={result} description={<span className={`mono ${classes.id}`}>{request.request_id}</span>}>
      <dl className={classes.details}>
        {factsOf(request, wallet).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        <div>
          <dt>Charge</dt>
          <dd>
            {charge}
            {request.entries.map(({ id, kind, amount, created_at: at }) => (
              <div key={id}>
                {kind} {formatSignedMoney(amount)}, <ExactTime at={at} />
              </div>
            ))}
          </dd>
        </div>
        <div>
          <dt>Account</dt>
          <dd>
            <AccountLink id={request.wallet_id} url={consoleUrl} path={`/searches/${request.request_id}`} />
          </dd>
        </div>
      </dl>
      <Section title="Timeline">
        <Timeline search={request} />
      </Section>
      {isRefundable && !isRefunded && <RefundForm requestId={request.request_id} />}
    </Section>
  );
}

function factsOf(request: FoundRequest, wallet: FoundWallet | undefined): [string, ReactNode][] {
  const [key] = wallet?.keys ?? [];
  const { state, outcome, ms, upstreams, mode, transport, run, end_user: endUser } = request;
  const facts: [string, ReactNode][] = [
    ["State", `${state}, ${mode}`],
    ["Outcome", outcome],
    ["Time", <ExactTime key="at" at={request.at} hasMs />],
    ["Duration", ms === null ? null : formatMs(ms)],
    ["Upstreams", upstreams?.replaceAll(",", ", ") ?? null],
    ["Wallet", wallet ? `${wallet.name || "deleted"}, ${wallet.id}` : request.wallet_id],
    ["Owners", wallet?.account?.owners.join(", ") || null],
    ["Key", key ? `${key.start}… ${key.name} (${key.state})` : request.key_id],
    ["Sent to", transport],
    ["Run", run],
    ["End user", endUser],
  ];
  return facts.filter(([, value]) => value !== null);
}

function RefundForm({ requestId }: { requestId: string }) {
  const [reason, setReason] = useState("");
  const queries = useQueryClient();
  const refund = useMutation({
    mutationFn: () => api(`/operator/searches/${requestId}/refund`, { method: "POST", body: { reason } }),
    onSuccess: () => queries.invalidateQueries(),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        refund.mutate();
      }}
    >
      <Group align="flex-end" mt="lg">
        <TextInput
          label="Reason for the refund"
          required
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          w={{ base: "100%", xs: 320 }}
        />
        <Button type="submit" variant="default" loading={refund.isPending}>
          Refund search
        </Button>
      </Group>
      <InlineError error={refund.error} />
    </form>
  );
}
