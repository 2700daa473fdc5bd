import { sanitize } from "../terminal.ts";
import type { Change, Plan } from "./change.ts";

const signs: Record<Change["action"], string> = { create: "+", update: "~", "replace secret": "~", remove: "-" };

const titles: Record<Change["section"], string> = {
  budgets: "budget",
  keys: "key",
  webhooks: "webhook",
  alerts: "alerts",
  auto_top_up: "automatic top-up",
};

/** One line per change, and the objects that are not in the file. */
export function formatPlan({ changes, unlisted }: Plan): string {
  const others = unlisted.map((object) => `  ${describe(object)}`);
  return [
    ...(changes.length === 0 ? ["No changes."] : changes.map(formatLine)),
    ...(others.length === 0 ? [] : ["Not in the file, left unchanged:", ...others]),
  ].join("\n");
}

export function toJson({ changes, unlisted }: Plan): string {
  return JSON.stringify({
    changes: changes.map(({ section, action, id, mode, differences }) => ({
      section,
      action,
      external_id: id,
      mode,
      differences,
    })),
    not_in_file: unlisted.map(({ section, id, mode }) => ({ section, external_id: id, mode })),
  });
}

/** Such as `create key agent (live)`. */
export function formatChange(change: Change): string {
  return `${change.action} ${change.action === "replace secret" ? "of " : ""}${describe(change)}`;
}

function formatLine(change: Change): string {
  const fields = change.differences.map(
    ({ name, before, after }) => `${name} ${formatValue(before)} -> ${formatValue(after)}`,
  );
  return `${signs[change.action]} ${formatChange(change)}${fields.length === 0 ? "" : `: ${fields.join(", ")}`}`;
}

function describe({ section, id, mode }: Pick<Change, "section" | "id" | "mode">): string {
  const subject = id === undefined ? "" : ` ${sanitize(id)}`;
  return `${titles[section]}${subject}${mode === undefined ? "" : ` (${mode})`}`;
}

function formatValue(value: unknown): string {
  return value === null ? "none" : sanitize(typeof value === "string" ? value : JSON.stringify(value));
}
