import { Money } from "../../parts/money.tsx";
import { Cell, Row } from "../../parts/table.tsx";
import { formatCount } from "../../words/format-time.ts";
import classes from "./ledger.module.css";
import { isBalanced, type Totals } from "./statement.ts";

/** Below the lines: what they come to. Opening balance and lines make the closing balance, or it is said that not. */
export function TotalLines({ totals, count }: { totals: Totals; count: number }) {
  const { opening, closing, sum } = totals;
  const lines = formatCount(count, "line");
  return (
    <>
      {opening !== undefined && <TotalLine name="Balance before" amount={opening} isQuiet hasBalance />}
      <TotalLine name={`In, of ${lines}`} amount={totals.in} isChange isQuiet hasBalance={opening !== undefined} />
      <TotalLine name={`Out, of ${lines}`} amount={totals.out} isChange isQuiet hasBalance={opening !== undefined} />
      {opening === undefined && <TotalLine name="Together" amount={sum} isChange hasBalance={false} />}
      {closing !== undefined && <TotalLine name="Balance after" amount={closing} hasBalance />}
      {!isBalanced(totals) && (
        <tr role="row">
          <td role="cell" colSpan={5}>
            These lines do not add up: one may have come in between. Load the page again.
          </td>
        </tr>
      )}
    </>
  );
}

function TotalLine(props: {
  name: string;
  amount: string;
  hasBalance: boolean;
  isChange?: boolean;
  isQuiet?: boolean;
}) {
  const { name, amount, hasBalance, isChange = false, isQuiet = false } = props;
  const className = (isQuiet ? classes.sums : classes.strong) ?? "";
  return (
    <Row>
      <th role="rowheader" scope="row" colSpan={3} className={className}>
        {name}
      </th>
      {hasBalance && !isChange && <td role="cell" aria-hidden="true" />}
      <Cell isFigures className={className}>
        <Money amount={amount} isChange={isChange} />
      </Cell>
      {hasBalance && isChange && <td role="cell" aria-hidden="true" />}
    </Row>
  );
}
