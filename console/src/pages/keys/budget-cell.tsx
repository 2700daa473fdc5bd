import { Text } from "@mantine/core";
import type { Key } from "@pennyblack/sdk";
import { formatMoney } from "../../format/format-money.ts";
import { readBudget } from "./budget.ts";
import { BudgetMeter } from "./budget-meter.tsx";
import classes from "./keys.module.css";

export function BudgetCell({ apiKey, price }: { apiKey: Key; price: string }) {
  if (apiKey.mode === "mgmt") return <DimmedText text="Cannot search" />;
  const limits = readBudget(apiKey, price);
  const { end_user_limit: endUserLimit } = apiKey;
  const perEndUser = apiKey.budgets.filter(({ per }) => per === "end_user");
  if (apiKey.mode === "test" && apiKey.budgets.length === 0) return <DimmedText text="Free" />;
  if (limits.length === 0 && perEndUser.length === 0 && !endUserLimit) return <DimmedText text="No limit" />;
  return (
    <div className={classes.budgets}>
      {limits.map((budget) => (
        <BudgetMeter key={budget.id} budget={budget} isInactive={apiKey.state !== "active"} />
      ))}
      {endUserLimit && (
        <span>
          {formatMoney(endUserLimit.amount)} per end user and {endUserLimit.period}
        </span>
      )}
      {perEndUser.map(({ id, name, limit, period }) => (
        <div key={id}>
          <Text size="xs" c="dimmed" className={classes.name ?? ""}>
            {name}
          </Text>
          {formatMoney(limit)} per end user and {period}
        </div>
      ))}
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
