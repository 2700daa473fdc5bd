import { Text } from "@mantine/core";
import type { Key } from "../../api/keys.ts";
import { Meter } from "../../parts/meter.tsx";
import { Moment } from "../../parts/moment.tsx";
import { formatMoney } from "../../words/format-money.ts";
import { type BudgetFact, readBudget } from "./budget.ts";
import classes from "./keys.module.css";

const spans = { day: "today", month: "this month", total: "in all" } as const;

/** What the key may spend and has spent. One that is spent is seen at once. */
export function BudgetCell({ apiKey, price }: { apiKey: Key; price: string }) {
  if (apiKey.mode === "mgmt") return <Quiet text="does not search" />;
  const facts = readBudget(apiKey, price);
  if (apiKey.mode === "test") return <Quiet text="spends nothing" />;
  if (facts.length === 0) return <Quiet text="no limit" />;
  return (
    <div className={classes.budgets}>
      {facts.map((fact) => (
        <BudgetMeter key={fact.term} fact={fact} isOver={apiKey.state !== "active"} />
      ))}
    </div>
  );
}

function Quiet({ text }: { text: string }) {
  return (
    <Text span size="sm" c="dimmed">
      {text}
    </Text>
  );
}

function BudgetMeter({ fact, isOver }: { fact: BudgetFact; isOver: boolean }) {
  const { term, spent, limit, isSpent, resets_at: resetsAt } = fact;
  return (
    <div>
      <div className={classes.budgetLine}>
        <span>
          {formatMoney(spent)} of {formatMoney(limit)} {spans[term]}
        </span>
        {resetsAt !== null && !isSpent && (
          <Text span size="xs" c="dimmed">
            resets <Moment at={resetsAt} />
          </Text>
        )}
      </div>
      <Meter spent={spent} limit={limit} isFull={isSpent} label={`Spent ${spans[term]}`} />
      {isSpent && !isOver && (
        <Text size="xs" c="var(--pb-danger)">
          {resetsAt === null ? (
            "Refuses searches until you raise it"
          ) : (
            <>
              Refuses searches until it resets <Moment at={resetsAt} />
            </>
          )}
        </Text>
      )}
    </div>
  );
}
