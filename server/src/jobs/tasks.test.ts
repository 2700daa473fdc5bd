import assert from "node:assert/strict";
import { test } from "node:test";
import { createTasks, type TaskDependencies } from "./tasks.ts";

test("a task that waits for an external service never runs twice at the same time", async () => {
  const answered = Promise.withResolvers<never>();
  let running = 0;
  const wait = (): Promise<never> => {
    running += 1;
    return answered.promise;
  };
  const dependencies = {
    payments: { comparePayments: wait, chargeCards: wait },
    sendWebhooks: wait,
    sendAlertEmails: wait,
  } as unknown as TaskDependencies;
  const tasks = createTasks(dependencies);
  const context = { schedule: async () => {}, signal: new AbortController().signal };
  for (const name of ["compare_payments", "charge_cards", "webhooks", "emails"]) {
    running = 0;
    const first = tasks[name]?.(context);
    for (let minute = 0; minute < 5; minute += 1) await tasks[name]?.(context);
    assert.equal(running, 1, name);
    first?.catch(() => undefined);
  }
  answered.reject(new Error("connection closed"));
});
