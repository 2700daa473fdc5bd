import { Button, Group, Stack, Table, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { Money } from "../components/money.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { ErrorState, InlineError } from "../components/states.tsx";
import { type EntryLine, entriesQuery } from "./queries.ts";
import { SearchBox } from "./search-box.tsx";

/** Shows whether a search was charged, and can refund it. */
export function RequestLookup() {
  const [requestId, setRequestId] = useState("");
  const { data, error } = useQuery({ ...entriesQuery(requestId), enabled: requestId !== "" });
  return (
    <>
      <SearchBox label="Request-Id" placeholder="0198…" onSearch={setRequestId} />
      {error && <ErrorState error={error} title="Couldn't look up the search." />}
      {data?.entries.length === 0 && (
        <Text>Not charged. A search from the last minute may still be in progress; otherwise this is final.</Text>
      )}
      {data !== undefined && data.entries.length > 0 && <Entries entries={data.entries} requestId={requestId} />}
    </>
  );
}

function Entries({ entries, requestId }: { entries: readonly EntryLine[]; requestId: string }) {
  const isRefunded = entries.some(({ kind }) => kind === "refund");
  return (
    <Stack>
      <Table>
        <Table.Tbody>
          {entries.map(({ id, kind, amount, created_at: at, wallet_id: walletId }) => (
            <Table.Tr key={id}>
              <Table.Td>{kind === "capture" ? "search" : kind}</Table.Td>
              <Table.Td>
                <RelativeTime at={at} />
              </Table.Td>
              <Table.Td className="mono">{walletId}</Table.Td>
              <Table.Td className="numeric">
                <Money amount={amount} isSigned />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {!isRefunded && <RefundForm requestId={requestId} />}
    </Stack>
  );
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
      <Group align="flex-end">
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
