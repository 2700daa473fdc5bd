import type { UpdateWebhookRequest } from "@pennyblack/sdk";
import type { ApplyFile, FileWebhook } from "./apply-file.ts";
import type { Change, Wallet } from "./change.ts";
import { type Difference, findDifferences } from "./differences.ts";
import { findById } from "./find-by-id.ts";
import type { SecretFiles } from "./secret-files.ts";

export function planWebhooks({ webhooks = [] }: ApplyFile, wallet: Wallet, secrets: SecretFiles | undefined): Change[] {
  return webhooks.flatMap((webhook) => planWebhook(webhook, wallet, secrets));
}

function planWebhook(webhook: FileWebhook, wallet: Wallet, secrets: SecretFiles | undefined): Change[] {
  const { external_id: id, enabled, ...request } = webhook;
  const existing = findById(wallet.webhooks, { external_id: id });
  const subject = { section: "webhooks", id } as const;
  const secretFile = `${id}.webhook-secret`;
  if (!existing) {
    let createdId = "";
    const create: Change["apply"] = async ({ client }) => {
      const created = await client.webhooks.create({ ...request, external_id: id });
      createdId = created.id;
      return created.secret;
    };
    const creation: Change = { ...subject, action: "create", differences: [], secretFile, apply: create };
    if (enabled !== false) return [creation];
    // A separate change, so that the secret is saved if this one fails.
    const disable: Change["apply"] = async ({ client }) => void (await client.webhooks.update(createdId, { enabled }));
    const differences = [{ name: "enabled", before: true, after: false }];
    return [creation, { ...subject, action: "update", differences, apply: disable }];
  }
  // Not compared if they are omitted: events that are added later, and what the server or a person has disabled.
  const { url, description = "", events } = request;
  const desired = { url, description, ...(events && { events }), ...(enabled !== undefined && { enabled }) };
  const differences = findDifferences(desired, existing);
  const changes: Change[] = [];
  if (differences.length > 0) {
    const names = new Set(differences.map(({ name }) => name));
    const body: UpdateWebhookRequest = Object.fromEntries(Object.entries(desired).filter(([name]) => names.has(name)));
    const apply: Change["apply"] = async ({ client }) => void (await client.webhooks.update(existing.id, body));
    changes.push({ ...subject, action: "update", differences: differences.map(hidePath), apply });
  }
  if (secrets?.stateOf(secretFile) === "empty") {
    const apply: Change["apply"] = async ({ client }) => (await client.webhooks.rotateSecret(existing.id)).secret;
    changes.push({ ...subject, action: "replace secret", differences: [], secretFile, apply });
  }
  return changes;
}

/** The path of a URL can be a secret of its receiver. */
function hidePath(difference: Difference): Difference {
  if (difference.name !== "url") return difference;
  const toOrigin = (url: unknown): string => `${URL.parse(String(url))?.origin ?? "URL"}/…`;
  return { name: "url", before: toOrigin(difference.before), after: toOrigin(difference.after) };
}
