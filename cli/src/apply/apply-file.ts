import { readFileSync } from "node:fs";
import type {
  AlertSettings,
  CreateBudgetRequest,
  CreateKeyRequest,
  CreateWebhookRequest,
  SetAutoTopUpRequest,
} from "@pennyblack/sdk";
import { checkSchema, type Schema } from "./check-schema.ts";

// The settings of a wallet as a file, as pennyblack.schema.json describes it.

interface Identified {
  external_id: string;
}

export type FileBudget = CreateBudgetRequest & Identified;
/** `budgets` has external ids. */
export type FileKey = CreateKeyRequest & Identified;
export type FileWebhook = CreateWebhookRequest & Identified & { enabled?: boolean };

/** Sections that are absent are left unchanged. */
export interface ApplyFile {
  budgets?: FileBudget[];
  keys?: FileKey[];
  webhooks?: FileWebhook[];
  alerts?: AlertSettings;
  auto_top_up?: SetAutoTopUpRequest | null;
}

// Beside dist in the package, and beside src in the repository.
const schema = JSON.parse(readFileSync(new URL("../../pennyblack.schema.json", import.meta.url), "utf8")) as Schema;

/** Reads and checks the file. Throws an error that lists every fault with its path; nothing was sent before. */
export function readApplyFile(path: string): ApplyFile {
  const value = parse(path);
  const faults = checkSchema(schema, value);
  if (faults.length === 0) faults.push(...findReferenceFaults(value as ApplyFile));
  if (faults.length > 0)
    throw new Error(`${path} is not valid. Nothing was sent.\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
  return value as ApplyFile;
}

function parse(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`Could not read ${path} (${(error as NodeJS.ErrnoException).code}).`, { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON. Nothing was sent.\n  ${(error as Error).message}`, { cause: error });
  }
}

/** Faults that the schema does not express. */
function findReferenceFaults({ budgets = [], keys = [], webhooks = [] }: ApplyFile): string[] {
  const known = new Set(budgets.map(identify));
  return [
    ...findRepeated("budgets", budgets),
    ...findRepeated("keys", keys),
    ...findRepeated("webhooks", webhooks),
    ...keys.flatMap(({ mode, budgets: named = [] }, index) =>
      named.flatMap((id, position) =>
        known.has(identify({ mode, external_id: id }))
          ? []
          : [`keys[${index}].budgets[${position}] is not the external id of a ${mode} budget of this file`],
      ),
    ),
  ];
}

function findRepeated(section: string, objects: readonly { mode?: string; external_id: string }[]): string[] {
  const seen = new Set<string>();
  return objects.flatMap((object, index) => {
    const id = identify(object);
    const isRepeated = seen.has(id);
    seen.add(id);
    return isRepeated ? [`${section}[${index}].external_id is that of another object of the list`] : [];
  });
}

/** Unique among the objects of a kind. Webhooks have no mode. */
export function identify({ mode = "", external_id }: { mode?: string; external_id: string }): string {
  return `${mode}/${external_id}`;
}
