import { Text } from "@mantine/core";
import type { Key } from "@pennyblack/sdk";
import { Meter } from "../../components/meter.tsx";
import { RelativeTime } from "../../components/relative-time.tsx";
import { formatMoney } from "../../format/format-money.ts";
import { type BudgetStatus, readBudget } from "./budget.ts";
import classes from "./keys.module.css";

const periodLabels = { day: "today", month: "this month", total: "in total" } as const;

export function BudgetCell({ apiKey, price }: { apiKey: Key; price: string }) {
  if (apiKey.mode === "mgmt") return <DimmedText text="Cannot search" />;
  const limits = readBudget(apiKey, price);
  const { end_user_limit: endUserLimit } = apiKey;
  if (apiKey.mode === "test") return <DimmedText text="Free" />;
  if (limits.length === 0 && !endUserLimit) return <DimmedText text="No limit" />;
  return (
    <div className={classes.budgets}>
      {limits.map((budget) => (
        <BudgetMeter key={budget.period} budget={budget} isInactive={apiKey.state !== "active"} />
      ))}
      {endUserLimit && (
        <span>
          {formatMoney(endUserLimit.amount)} per end user and {endUserLimit.period}
        </span>
      )}
    </div>
  );
}

function DimmedText({ text }: { text: string }) {
  return (
    <Text span size="sm" c="dimmed">
      {text}
    </Text>
  );
}

function BudgetMeter({ budget, isInactive }: { budget: BudgetStatus; isInactive: boolean }) {
  const { period, spent, limit, isSpent, resets_at: resetsAt } = budget;
  return (
    <div>
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
      <Meter spent={spent} limit={limit} isFull={isSpent} label={`Spent ${periodLabels[period]}`} />
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
