import { Progress } from "@mantine/core";
import { fractionOf } from "../format/amounts.ts";
import { formatMoney } from "../format/format-money.ts";

/** Amount spent of a limit. */
export function Meter({
  spent,
  limit,
  isFull,
  label,
}: Readonly<{ spent: string; limit: string; isFull: boolean; label: string }>) {
  const percent = isFull ? 100 : fractionOf(spent, limit) * 100;
  const notFullColor = percent >= 80 ? "var(--pb-warning)" : "var(--pb-accent)";
  return (
    <Progress.Root
      size={4}
      mt={6}
      mb={2}
      bg="var(--pb-hairline)"
      role="meter"
      aria-label={label}
      aria-valuenow={Math.floor(percent)}
      aria-valuetext={`${formatMoney(spent)} of ${formatMoney(limit)}`}
    >
      <Progress.Section value={percent} color={isFull ? "var(--pb-danger)" : notFullColor} withAria={false} />
    </Progress.Root>
  );
}
