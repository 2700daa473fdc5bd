import { Badge, Button, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Moment } from "../parts/moment.tsx";
import { Money } from "../parts/money.tsx";
import { Page, Section } from "../parts/page.tsx";
import { Empty, Failure, RowsSkeleton } from "../parts/states.tsx";
import { Wide } from "../parts/wide.tsx";
import { type AccountLine, accountsQuery } from "./queries.ts";
import { RequestLookUp } from "./request-look-up.tsx";
import { SearchBox } from "./search-box.tsx";
import { WalletActs } from "./wallet-acts.tsx";

export function Accounts() {
  const [email, setEmail] = useState("");
  const [chosen, setChosen] = useState<string>();
  const { data, error, refetch } = useQuery(accountsQuery(email));
  return (
    <Page
      title="Accounts"
      about="Who has a wallet here, and what you can do for them. Each act leaves a line in the audit."
    >
      <SearchBox label="Find by a member's address" placeholder="ada@example.org" onSearch={setEmail} />
      {error && <Failure error={error} what="The accounts could not be read." retry={refetch} />}
      {!data && !error && <RowsSkeleton />}
      {data?.accounts.length === 0 && (
        <Empty title={email ? "Nobody with this address" : "No accounts yet"}>
          {email
            ? "Nobody with exactly this address is a member of an account."
            : "Make one with npm run admin -- account create, or let people sign up."}
        </Empty>
      )}
      {data !== undefined && data.accounts.length > 0 && (
        <AccountsTable accounts={data.accounts} chosen={chosen} onChoose={setChosen} />
      )}
      {chosen !== undefined && <WalletActs key={chosen} walletId={chosen} />}
      <Section title="Was this search charged?" about="By the Request-Id that the caller got.">
        <RequestLookUp />
      </Section>
    </Page>
  );
}

interface AccountsTableProps {
  accounts: readonly AccountLine[];
  chosen: string | undefined;
  onChoose: (walletId: string) => void;
}

function AccountsTable({ accounts, chosen, onChoose }: AccountsTableProps) {
  return (
    <Wide label="Accounts">
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Account</Table.Th>
            <Table.Th>Owners</Table.Th>
            <Table.Th>Since</Table.Th>
            <Table.Th className="figures">Balance</Table.Th>
            <Table.Th>
              <span className="hidden-from-eyes">Open</span>
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
              <Table.Td>{account.owners.join(", ") || <Text c="dimmed">nobody</Text>}</Table.Td>
              <Table.Td>
                <Moment at={account.created_at} />
              </Table.Td>
              <Table.Td className="figures">
                {account.wallets.map(({ id, balance }) => (
                  <div key={id}>
                    <Money amount={balance} />
                  </div>
                ))}
              </Table.Td>
              <Table.Td className="figures">
                {account.wallets.map(({ id }) => (
                  <Button
                    key={id}
                    variant={id === chosen ? "light" : "default"}
                    size="xs"
                    onClick={() => onChoose(id)}
                    aria-label={`Open the wallet of ${account.name}`}
                  >
                    Open
                  </Button>
                ))}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}
