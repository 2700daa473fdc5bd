import { Button, Group, Stack, Table, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { Moment } from "../parts/moment.tsx";
import { Money } from "../parts/money.tsx";
import { Failure, Refusal } from "../parts/states.tsx";
import { type EntryLine, entriesQuery } from "./queries.ts";
import { SearchBox } from "./search-box.tsx";

/** Answers a caller's letter from the Request-Id alone, and gives the cent back where that is right. */
export function RequestLookUp() {
  const [requestId, setRequestId] = useState("");
  const { data, error } = useQuery({ ...entriesQuery(requestId), enabled: requestId !== "" });
  return (
    <>
      <SearchBox label="Request-Id" placeholder="0198…" onSearch={setRequestId} />
      {error && <Failure error={error} what="It could not be looked up." />}
      {data?.entries.length === 0 && (
        <Text>
          It was not charged. A search that ran less than a minute ago may still be under way; after that, this is
          final.
        </Text>
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
                <Moment at={at} />
              </Table.Td>
              <Table.Td className="mono">{walletId}</Table.Td>
              <Table.Td className="figures">
                <Money amount={amount} isChange />
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
          label="Why it is given back"
          required
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          w={{ base: "100%", xs: 320 }}
        />
        <Button type="submit" variant="default" loading={refund.isPending}>
          Refund the search
        </Button>
      </Group>
      <Refusal error={refund.error} />
    </form>
  );
}
