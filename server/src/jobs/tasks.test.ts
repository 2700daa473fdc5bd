import assert from "node:assert/strict";
import { test } from "node:test";
import { createTasks, type TaskParts } from "./tasks.ts";

test("a job that waits for strangers is never run twice at once, however often it is revived", async () => {
  const answered = Promise.withResolvers<never>();
  let running = 0;
  const wait = (): Promise<never> => {
    running += 1;
    return answered.promise;
  };
  const parts = {
    payments: { comparePayments: wait, chargeCards: wait },
    sendWebhooks: wait,
    sendMail: wait,
  } as unknown as TaskParts;
  const tasks = createTasks(parts);
  const context = { schedule: async () => {}, signal: new AbortController().signal };
  for (const name of ["compare_payments", "charge_cards", "webhooks", "mail"]) {
    running = 0;
    const first = tasks[name]?.(context);
    for (let minute = 0; minute < 5; minute += 1) await tasks[name]?.(context);
    assert.equal(running, 1, name);
    first?.catch(() => undefined);
  }
  answered.reject(new Error("the stranger hung up"));
});
