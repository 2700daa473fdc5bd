import { formatChange, formatMoney } from "../words/format-money.ts";

/** An amount of money: always with its unit, figures under figures. */
export function Money({ amount, isChange = false }: { amount: string; isChange?: boolean }) {
  return <span className="mono">{isChange ? formatChange(amount) : formatMoney(amount)}</span>;
}
