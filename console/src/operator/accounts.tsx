import { Badge, Button, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Money } from "../components/money.tsx";
import { Page, Section } from "../components/page.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { ScrollRegion } from "../components/scroll-region.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../components/states.tsx";
import { type AccountLine, accountsQuery } from "./queries.ts";
import { RequestLookup } from "./request-lookup.tsx";
import { SearchBox } from "./search-box.tsx";
import { WalletActions } from "./wallet-actions.tsx";

export function Accounts() {
  const [email, setEmail] = useState("");
  const [selectedId, setSelectedId] = useState<string>();
  const { data, error, refetch } = useQuery(accountsQuery(email));
  return (
    <Page
      title="Accounts"
      description="Customer accounts and their wallets. Every action is recorded in the audit log."
    >
      <SearchBox label="Find by member email" placeholder="ada@example.org" onSearch={setEmail} />
      {error && <ErrorState error={error} title="Couldn't load accounts." onRetry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data?.accounts.length === 0 && (
        <EmptyState title={email ? "No accounts found" : "No accounts yet"}>
          {email
            ? "No member has exactly this email address."
            : "Create one with npm run admin -- account create, or enable sign-up."}
        </EmptyState>
      )}
      {data !== undefined && data.accounts.length > 0 && (
        <AccountsTable accounts={data.accounts} selectedId={selectedId} onSelect={setSelectedId} />
      )}
      {selectedId !== undefined && <WalletActions key={selectedId} walletId={selectedId} />}
      <Section title="Look up a search" description="By the Request-Id of the response.">
        <RequestLookup />
      </Section>
    </Page>
  );
}

interface AccountsTableProps {
  accounts: readonly AccountLine[];
  selectedId: string | undefined;
  onSelect: (walletId: string) => void;
}

function AccountsTable({ accounts, selectedId, onSelect }: AccountsTableProps) {
  return (
    <ScrollRegion label="Accounts">
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Account</Table.Th>
            <Table.Th>Owners</Table.Th>
            <Table.Th>Created</Table.Th>
            <Table.Th className="numeric">Balance</Table.Th>
            <Table.Th>
              <span className="visually-hidden">Actions</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {accounts.map((account) => (
            <Table.Tr key={account.id}>
              <Table.Td>
                {account.name}{" "}
                {account.deleted_at !== null && (
                  <Badge color="ink" variant="outline">
                    deleted
                  </Badge>
                )}
                {account.wallets.some(({ suspended }) => suspended) && <Badge color="red">suspended</Badge>}
              </Table.Td>
              <Table.Td>{account.owners.join(", ") || <Text c="dimmed">none</Text>}</Table.Td>
              <Table.Td>
                <RelativeTime at={account.created_at} />
              </Table.Td>
              <Table.Td className="numeric">
                {account.wallets.map(({ id, balance }) => (
                  <div key={id}>
                    <Money amount={balance} />
                  </div>
                ))}
              </Table.Td>
              <Table.Td className="numeric">
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
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollRegion>
  );
}
