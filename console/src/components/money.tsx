import { formatMoney, formatSignedMoney } from "../format/format-money.ts";

export function Money({ amount, isSigned = false }: { amount: string; isSigned?: boolean }) {
  return <span className="mono">{isSigned ? formatSignedMoney(amount) : formatMoney(amount)}</span>;
}
