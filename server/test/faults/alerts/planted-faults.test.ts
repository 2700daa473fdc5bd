import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { readRules } from "../../support/docs/read-rules.ts";
import { plantedFaults } from "./planted-faults.ts";

const root = resolve(import.meta.dirname, "../../../..");

test("every planted fault has an alert whose runbook contains the step that repairs it", () => {
  const rules = readRules(join(root, "deploy/prometheus/rules"));
  for (const { id, alert, step } of plantedFaults) {
    const page = new RegExp(`- alert: ${alert}\\n[^]*?runbook_url: \\S+/([\\w-]+)\\n`).exec(rules)?.[1];
    const text = readFileSync(join(root, `docs/runbooks/${page}.md`), "utf8").replaceAll(/\s+/g, " ");
    assert.ok(text.includes(step), `${id}: ${page}.md does not contain "${step}"`);
  }
});
