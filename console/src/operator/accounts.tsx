import { Badge, Button, Text } from "@mantine/core";
import { useHash } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Money } from "../components/money.tsx";
import { Page } from "../components/page.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../components/states.tsx";
import { ActionsCell, Cell, Row, RowHeader, Table } from "../components/table.tsx";
import { FindForm, type FindRequest, toParameters } from "./find-form.tsx";
import { FindResults } from "./find-results.tsx";
import { type AccountLine, accountsQuery } from "./queries.ts";
import { WalletActions } from "./wallet-actions.tsx";

/** The look-up is part of the page's URL, after the hash, which is not sent to the server. */
export function Accounts() {
  const [hash, setHash] = useHash({ getInitialValueInEffect: false });
  const [selectedId, setSelectedId] = useState<string>();
  const request = readRequest(hash);
  const find = (wanted: FindRequest): void => {
    setSelectedId(undefined);
    setHash(wanted.text === "" ? "#accounts" : `#accounts?${new URLSearchParams({ ...wanted })}`);
  };
  return (
    <Page
      title="Accounts"
      description="Find a request, an account or its searches. Every action and every view of an account's data is recorded."
    >
      <FindForm key={hash} initial={request} onFind={find} />
      {request.text === "" ? (
        <NewestAccounts selectedId={selectedId} onSelect={setSelectedId} />
      ) : (
        <FindResults
          parameters={toParameters(request)}
          onFind={(text) => find({ text, at: "", outcome: "" })}
          onOpen={setSelectedId}
        />
      )}
      {selectedId !== undefined && <WalletActions key={selectedId} walletId={selectedId} />}
    </Page>
  );
}

function readRequest(hash: string): FindRequest {
  const given = new URLSearchParams(hash.split("?")[1] ?? "");
  const read = (name: keyof FindRequest): string => given.get(name) ?? "";
  return { text: read("text"), at: read("at"), outcome: read("outcome") };
}

interface SelectionProps {
  selectedId: string | undefined;
  onSelect: (walletId: string) => void;
}

function NewestAccounts(selection: SelectionProps) {
  const { data, error, refetch } = useQuery(accountsQuery);
  if (error) return <ErrorState error={error} title="Couldn't load accounts." onRetry={refetch} />;
  if (!data) return <RowsSkeleton />;
  if (data.accounts.length === 0) {
    return (
      <EmptyState title="No accounts yet">
        Create one with npm run admin -- account create, or enable sign-up.
      </EmptyState>
    );
  }
  return <AccountsTable accounts={data.accounts} {...selection} />;
}

function AccountsTable({ accounts, selectedId, onSelect }: SelectionProps & { accounts: readonly AccountLine[] }) {
  return (
    <Table
      label="Accounts"
      columns={[
        { name: "Account" },
        { name: "Owners" },
        { name: "Created" },
        { name: "Balance", isNumeric: true },
        { name: "Actions", isHeaderHidden: true },
      ]}
    >
      {accounts.map((account) => (
        <Row key={account.id}>
          <RowHeader>
            {account.name}{" "}
            {account.deleted_at !== null && (
              <Badge color="ink" variant="outline">
                deleted
              </Badge>
            )}
            {account.wallets.some(({ suspended }) => suspended) && <Badge color="red">suspended</Badge>}
          </RowHeader>
          <Cell label="Owners">{account.owners.join(", ") || <Text c="dimmed">none</Text>}</Cell>
          <Cell label="Created">
            <RelativeTime at={account.created_at} />
          </Cell>
          <Cell label="Balance" isNumeric>
            {account.wallets.map(({ id, balance }) => (
              <div key={id}>
                <Money amount={balance} />
              </div>
            ))}
          </Cell>
          <ActionsCell>
            {account.wallets.map(({ id }) => (
              <Button
                key={id}
                variant={id === selectedId ? "light" : "default"}
                size="xs"
                onClick={() => onSelect(id)}
                aria-label={`Open wallet of ${account.name}`}
              >
                Open
              </Button>
            ))}
          </ActionsCell>
        </Row>
      ))}
    </Table>
  );
}
