import { Money } from "../../components/money.tsx";
import { Cell, Row } from "../../components/table.tsx";
import classes from "./ledger.module.css";
import { isBalanced, type Totals } from "./statement.ts";

/** Totals of the loaded entries, with a warning if they do not add up to the closing balance. */
export function TotalRows({ totals }: { totals: Totals }) {
  const { opening, closing, sum } = totals;
  return (
    <>
      {opening !== undefined && <TotalRow name="Opening balance" amount={opening} isDimmed hasBalance />}
      <TotalRow name="Total in" amount={totals.in} isSigned isDimmed hasBalance={opening !== undefined} />
      <TotalRow name="Total out" amount={totals.out} isSigned isDimmed hasBalance={opening !== undefined} />
      {opening === undefined && <TotalRow name="Total" amount={sum} isSigned hasBalance={false} />}
      {closing !== undefined && <TotalRow name="Closing balance" amount={closing} hasBalance />}
      {!isBalanced(totals) && (
        <tr role="row">
          <td role="cell" colSpan={5}>
            These entries do not add up. A new one may have been added while loading. Reload the page.
          </td>
        </tr>
      )}
    </>
  );
}

function TotalRow(props: {
  name: string;
  amount: string;
  hasBalance: boolean;
  isSigned?: boolean;
  isDimmed?: boolean;
}) {
  const { name, amount, hasBalance, isSigned = false, isDimmed = false } = props;
  const className = (isDimmed ? classes.sums : classes.strong) ?? "";
  return (
    <Row>
      <th role="rowheader" scope="row" colSpan={3} className={className}>
        {name}
      </th>
      {hasBalance && !isSigned && <td role="cell" aria-hidden="true" />}
      <Cell isNumeric className={className}>
        <Money amount={amount} isSigned={isSigned} />
      </Cell>
      {hasBalance && isSigned && <td role="cell" aria-hidden="true" />}
    </Row>
  );
}
