import { listWords } from "../http/input/faults.ts";
import type { Dialect, DomainList, Parameter, Scalar } from "./dialect.ts";

/** The table of a page of docs/compat. */
export function renderTable(dialect: Dialect): string {
  const { method, name, path, title, parameters } = dialect;
  const rows = Object.entries(parameters).map(([parameter, rule]) => [code(parameter), describe(rule, dialect)]);
  const inOrder = ["query", "count", "category", "domains", "required", "key", "ignored", "refused"].flatMap((use) =>
    rows.filter((_, index) => Object.values(parameters)[index]?.use === use),
  );
  const table = [
    [code(`${method} /compat/${name}${path}`), "Searches. Costs 0.01 USD if the response is 200."],
    ["API key", `${describeKey(dialect)}. A key in the URL is not read.`],
    ...inOrder,
    ["Any other parameter", "Refused unless `Pennyblack-Ignore` names it."],
    [
      "`Idempotency-Key`",
      `Accepted. Clients of ${title} do not send one, so their retry after a lost response is charged again, unless the key has \`compat.repeat\`.`,
    ],
  ];
  return ["| Request | Handling |", "|---|---|", ...table.map((row) => `| ${row.join(" | ")} |`)].join("\n");
}

function describeKey({ keyHeader, acceptsBasic }: Dialect): string {
  const places = ["`Authorization: Bearer`", "`x-api-key`"];
  if (keyHeader !== undefined) places.unshift(code(keyHeader));
  if (acceptsBasic) places.push("the password of `Authorization: Basic`");
  return `In ${places.slice(0, -1).join(", ")} or ${places.at(-1)}`;
}

function describe(rule: Parameter, { defaultCount, parameters }: Dialect): string {
  switch (rule.use) {
    case "query":
      return `\`query\`${hasCount(parameters) ? "" : `. Returns ${defaultCount} results.`}`;
    case "count":
      return `\`n\`. Default: ${defaultCount}. Values above 20 are reduced to 20 and reported in \`Pennyblack-Capped\`.`;
    case "category": {
      const mapped = Object.entries(rule.values).map(([value, category]) =>
        category === "any" ? `${code(value)}: no category` : `${code(value)}: ${code(category)}`,
      );
      return `\`category\`. ${mapped.join(", ")}. Other values are refused (\`topic\`).`;
    }
    case "domains":
      return describeDomains[rule.list];
    case "required":
      return `Must be ${code(rule.value)}.`;
    case "key":
      return "Not needed. If present, it must be the key in the headers.";
    case "ignored":
      return ["Ignored.", rule.note].filter(Boolean).join(" ");
    case "refused": {
      const accepted = rule.neutral && `${listValues(rule.neutral)} has no effect.`;
      const ignored = rule.defaults && `${listValues(rule.defaults)} is ignored.`;
      const refused = rule.group === undefined ? "Refused." : `Refused (${code(rule.group)}).`;
      return [refused, accepted, ignored].filter(Boolean).join(" ");
    }
  }
}

const describeDomains: Record<DomainList, string> = {
  only: "Only results from these [domains](../migrating.md#domains). If this is not possible: refused (`domains`).",
  block: "No results from these [domains](../migrating.md#domains). Entries that are not domains: refused (`domains`).",
  either:
    "No results from [domains](../migrating.md#domains) that start with `-`. If there are others, only results from those. If this is not possible: refused (`domains`).",
};

function hasCount(parameters: Dialect["parameters"]): boolean {
  return Object.values(parameters).some(({ use }) => use === "count");
}

function listValues(values: readonly Scalar[]): string {
  return listWords(values.map(String));
}

function code(text: string): string {
  return `\`${text}\``;
}
