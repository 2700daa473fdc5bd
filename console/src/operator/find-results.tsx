import { Anchor, Badge, Button, Text } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { Money } from "../components/money.tsx";
import { Section } from "../components/page.tsx";
import { ExactTime } from "../components/relative-time.tsx";
import { EmptyState, ErrorState, RowsSkeleton } from "../components/states.tsx";
import { ActionsCell, Cell, Row, RowHeader, Table } from "../components/table.tsx";
import { formatMs } from "../format/format-time.ts";
import { AccountLink } from "./account-link.tsx";
import { FoundRequestDetails } from "./found-request.tsx";
import classes from "./operator.module.css";
import { cellsQuery, type Found, type FoundInCell, type FoundWallet, findInCellQuery, findQuery } from "./queries.ts";

export interface FindActions {
  /** Looks up a request of the list. */
  onFind: (requestId: string) => void;
  /** Shows a wallet of this cell. */
  onOpen: (walletId: string) => void;
}

/** Searches this cell and all others, with a separate request to each. */
export function FindResults({ parameters, ...actions }: { parameters: string } & FindActions) {
  const { data: found, error, refetch } = useQuery(findQuery(parameters));
  const { data: fleet } = useQuery(cellsQuery);
  const names = fleet?.cells.map(({ name }) => name) ?? [];
  const others = useQueries({ queries: names.map((name) => findInCellQuery(name, parameters)) });
  if (error) return <ErrorState error={error} title="The lookup failed." onRetry={refetch} />;
  if (!found) return <RowsSkeleton rows={3} />;
  // The list of cells can contain this one.
  const own = new Set(found.wallets.map(({ id }) => id));
  const answers = others.flatMap(({ data }) => (data ? [data] : []));
  const elsewhere = answers.filter(({ found: other }) => other?.wallets.some(({ id }) => !own.has(id)));
  const isLoading = others.some(({ isPending }) => isPending);
  return (
    <>
      {(found.wallets.length > 0 || (elsewhere.length === 0 && !isLoading)) && <Answer found={found} {...actions} />}
      {elsewhere.map((cell) => (
        <div key={cell.name} className={classes.foundCell}>
          <Text fw={600}>Cell {cell.name}</Text>
          {cell.found && <Answer found={cell.found} onFind={actions.onFind} consoleUrl={cell.url} />}
        </div>
      ))}
      {isLoading && <RowsSkeleton rows={2} />}
      <Unreachable cells={answers} failed={names.filter((_name, index) => others[index]?.isError)} />
    </>
  );
}

function Unreachable({ cells, failed }: { cells: readonly FoundInCell[]; failed: readonly string[] }) {
  const faults = cells.flatMap(({ name, fault }) => (fault === null ? [] : [`${name} (${fault})`]));
  const missing = [...faults, ...failed];
  if (missing.length === 0) return undefined;
  return (
    <Text role="alert" mt="md" c="var(--pb-danger)">
      These cells did not answer, so results may be incomplete: {missing.join(", ")}.
    </Text>
  );
}

interface AnswerProps extends Pick<FindActions, "onFind"> {
  found: Found;
  /** Only in this cell. */
  onOpen?: FindActions["onOpen"];
  /** The internal listener of another cell. */
  consoleUrl?: string;
}

function Answer({ found, consoleUrl = "", onFind, onOpen }: AnswerProps) {
  const { request, unknown, wallets, searches, has_more: hasMore } = found;
  const [wallet] = wallets;
  if (request) {
    return (
      <>
        <FoundRequestDetails key={request.request_id} request={request} wallet={wallet} consoleUrl={consoleUrl} />
        {wallet && onOpen && (
          <div className={classes.foundCell}>
            <OpenButton wallet={wallet} onOpen={onOpen} text="Open wallet" />
          </div>
        )}
      </>
    );
  }
  if (unknown !== null) return <EmptyState title="Unknown ID">{unknown}</EmptyState>;
  if (wallets.length === 0) {
    return (
      <EmptyState title="Nothing found">
        No wallet, key, member or request matches. Enter the whole email address. Part of a key or name is enough.
      </EmptyState>
    );
  }
  return (
    <>
      <Wallets wallets={wallets} consoleUrl={consoleUrl} onOpen={onOpen} />
      {searches.length > 0 && <Searches searches={searches} onFind={onFind} />}
      {hasMore && (
        <Text size="sm" c="dimmed" mt="sm">
          There are more. Choose another time, or open the account.
        </Text>
      )}
    </>
  );
}

function Wallets(props: { wallets: readonly FoundWallet[]; consoleUrl: string; onOpen: AnswerProps["onOpen"] }) {
  const { wallets, consoleUrl, onOpen } = props;
  const hasKeys = wallets.some(({ keys }) => keys.length > 0);
  return (
    <Table
      label="Wallets"
      columns={[
        { name: "Wallet" },
        { name: "Owners" },
        ...(hasKeys ? [{ name: "Keys" }] : []),
        { name: "Balance", isNumeric: true },
        { name: "Actions", isHeaderHidden: true },
      ]}
    >
      {wallets.map((wallet) => (
        <Row key={wallet.id}>
          <RowHeader>
            {wallet.name || "deleted"} {wallet.account?.deleted_at && <Badge variant="outline">deleted</Badge>}
            {wallet.suspended && <Badge color="red">suspended</Badge>}
            <Text size="xs" c="dimmed" fw={400} className="mono">
              {wallet.id}
            </Text>
          </RowHeader>
          <Cell label="Owners">{wallet.account?.owners.join(", ") || "none"}</Cell>
          {hasKeys && (
            <Cell label="Keys">
              {wallet.keys.map(({ id, name, start, state }) => (
                <div key={id}>
                  <span className="mono">{start}…</span> {name} ({state})
                </div>
              ))}
            </Cell>
          )}
          <Cell label="Balance" isNumeric>
            <Money amount={wallet.balance} />
          </Cell>
          <ActionsCell isWide>
            {onOpen && <OpenButton wallet={wallet} onOpen={onOpen} />} <AccountLink id={wallet.id} url={consoleUrl} />
          </ActionsCell>
        </Row>
      ))}
    </Table>
  );
}

function OpenButton(props: { wallet: FoundWallet; onOpen: FindActions["onOpen"]; text?: string }) {
  const { wallet, onOpen, text = "Open" } = props;
  return (
    <Button variant="default" size="xs" onClick={() => onOpen(wallet.id)} aria-label={`Open wallet of ${wallet.name}`}>
      {text}
    </Button>
  );
}

function Searches({ searches, onFind }: { searches: Found["searches"]; onFind: FindActions["onFind"] }) {
  return (
    <Section title="Requests">
      <Table
        label="Requests"
        columns={[
          { name: "Time" },
          { name: "Outcome" },
          { name: "Key" },
          { name: "Request" },
          { name: "Duration", isNumeric: true },
          { name: "Charged", isNumeric: true },
        ]}
      >
        {searches.map((search) => (
          <Row key={search.request_id}>
            <Cell label="Time">
              <ExactTime at={search.at} />
            </Cell>
            <Cell label="Outcome" className="mono">
              {search.outcome}
            </Cell>
            <Cell label="Key">{search.key_name ?? "deleted"}</Cell>
            <Cell label="Request">
              <Anchor
                component="button"
                type="button"
                size="sm"
                className="mono"
                onClick={() => onFind(search.request_id)}
              >
                {search.request_id}
              </Anchor>
            </Cell>
            <Cell label="Duration" isNumeric>
              {search.ms === null ? "–" : formatMs(search.ms)}
            </Cell>
            <Cell label="Charged" isNumeric>
              <Money amount={search.charged} />
            </Cell>
          </Row>
        ))}
      </Table>
    </Section>
  );
}
