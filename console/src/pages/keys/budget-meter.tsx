import { Text } from "@mantine/core";
import { Meter } from "../../components/meter.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { formatMoney } from "../../format/format-money.ts";
import type { BudgetStatus } from "./budget.ts";
import classes from "./keys.module.css";

const periodLabels = { day: "today", week: "this week", month: "this month", total: "in total" } as const;

/** What is spent of a budget, and when it resets. */
export function BudgetMeter({
  budget,
  isInactive = false,
}: {
  budget: Omit<BudgetStatus, "id">;
  isInactive?: boolean;
}) {
  const { name, period, spent, limit, isSpent, resets_at: resetsAt } = budget;
  return (
    <div>
      {name !== undefined && (
        <Text size="xs" c="dimmed" className={classes.name ?? ""}>
          {name}
        </Text>
      )}
      <div className={classes.budgetLine}>
        <span>
          {formatMoney(spent)} of {formatMoney(limit)} {periodLabels[period]}
        </span>
        {resetsAt !== null && !isSpent && (
          <Text span size="xs" c="dimmed">
            resets <RelativeTime at={resetsAt} />
          </Text>
        )}
      </div>
      <Meter
        spent={spent}
        limit={limit}
        isFull={isSpent}
        label={`Spent ${periodLabels[period]}${name === undefined ? "" : ` of ${name}`}`}
      />
      {isSpent && !isInactive && (
        <Text size="xs" c="var(--pb-danger)">
          {resetsAt === null ? (
            "Rejects searches until you raise it"
          ) : (
            <>
              Rejects searches until it resets <RelativeTime at={resetsAt} />
            </>
          )}
        </Text>
      )}
    </div>
  );
}
