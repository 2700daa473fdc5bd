import { domainName, type RegistryInfo } from "../ranking/ranking.ts";

// Turns published lists of domains into registry files. docs/ranking.md lists them with their terms.

export interface ListSource extends Omit<RegistryInfo, "retrieved"> {
  /** The list as CSV, with a header line. */
  file: string;
  /** The group of a domain, such as `$cap=D,why=listed-as-satire`. Undefined if the list has too little information about it. */
  groupOf: (row: Row, lists: Lists) => string | undefined;
}

type Row = Readonly<Record<string, string>>;

/** The rows of all lists, by file and domain. */
export type Lists = ReadonlyMap<string, ReadonlyMap<string, Row>>;

const unreliableGroups: Readonly<Record<string, string>> = {
  unreliable: "$cap=D,why=listed-as-unreliable",
  fake: "$cap=D,why=listed-as-fabricated-news",
  conspiracy: "$cap=D,why=listed-as-unreliable",
  satire: "$cap=D,why=listed-as-satire",
};

const governmentGroups: Readonly<Record<string, string>> = {
  // The list is dated and some hosts have changed hands, so only the larger bodies are raised to B, and none to A.
  federal: "$lift=B,why=federal-government",
  state: "$lift=B,why=state-government",
  county: "$lift=C,why=local-government",
  local: "$lift=C,why=local-government",
  regional: "$lift=C,why=local-government",
  native: "$lift=C,why=tribal-government",
  quasi: "$lift=C,why=public-body",
};

const maxCred1Score = 0.3;

/**
 * CRED-1 and fakenews share about 740 domains, mostly networks of local news sites, for which CRED-1 has no signal beyond
 * the label: no popularity, no checked claims. They are named, but stay neutral.
 */
const unsupportedGroup = "$cap=N,why=listed-without-other-signals";
const labelOnlyScore = "0.105";

function isUnsupported(domain: string, lists: Lists): boolean {
  return lists.get("cred-1.csv")?.get(domain)?.["score"] === labelOnlyScore && has(lists, "fakenews.csv", domain);
}

function has(lists: Lists, file: string, domain: string): boolean {
  return lists.get(file)?.has(domain) === true;
}

export const listSources: readonly ListSource[] = [
  {
    file: "cred-1.csv",
    name: "cred-1",
    title: "CRED-1: Open Domain Credibility Dataset",
    source: "https://github.com/aloth/cred-1",
    licence: "CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/)",
    attribution: "A. Loth, M. Kappes and M.-O. Pahl, 2026",
    // "Mixed" counts only if two source lists agree. "Reliable" and domains with a higher score are not lowered.
    groupOf: ({ domain = "", category = "", score, lists }, all) => {
      if (Number(score) > maxCred1Score) return undefined;
      if (isUnsupported(domain, all)) return unsupportedGroup;
      if (category === "mixed") return lists === "2" ? unreliableGroups["unreliable"] : undefined;
      return unreliableGroups[category];
    },
  },
  {
    file: "fakenews.csv",
    name: "fakenews",
    title: "fakenews: a collection of sites that publish fabricated news",
    source: "https://github.com/marktron/fakenews",
    licence: "MIT",
    attribution: "Copyright (c) 2016 marktron",
    groupOf: ({ domain = "" }, all) =>
      isUnsupported(domain, all) ? unsupportedGroup : "$cap=D,why=listed-as-fabricated-news",
  },
  {
    file: "copycats.csv",
    name: "copycats",
    title: "uBlock-Origin-dev-filter: copies of developer sites and encyclopedias",
    source: "https://github.com/quenhus/uBlock-Origin-dev-filter",
    licence: "Unlicense",
    attribution: "quenhus and contributors",
    groupOf: ({ kind }) =>
      kind === "seo_spam" ? "$cap=D,why=listed-as-low-content" : "$cap=D,why=listed-as-republished-content",
  },
  {
    file: "us-government-outside-gov.csv",
    name: "us-government",
    title: "govt-urls: official US government sites outside .gov and .mil",
    source: "https://github.com/GSA/govt-urls",
    licence: "work of the US federal government; the repository has no licence file",
    attribution: "US General Services Administration",
    groupOf: ({ level = "" }) => governmentGroups[level],
  },
];

export function parseLists(texts: ReadonlyMap<string, string>): Lists {
  return new Map(
    [...texts].map(([file, csv]) => [file, new Map(readCsv(csv).map((row) => [row["domain"] ?? "", row]))]),
  );
}

/** The text of a registry file. Entries that are not domain names, such as a folder of a site, are left out. */
export function makeRegistry(source: ListSource, lists: Lists, retrieved: string): string {
  const groups = new Map<string, Set<string>>();
  const seen = new Set<string>();
  for (const [listed, row] of lists.get(source.file) ?? []) {
    const domain = listed.toLowerCase().replace(/^www\.(?=[^.]+\.)/, "");
    const group = source.groupOf(row, lists);
    if (group === undefined || seen.has(domain) || !domainName.test(domain)) continue;
    seen.add(domain);
    groups.set(group, (groups.get(group) ?? new Set()).add(domain));
  }
  const { name, title, licence, attribution } = source;
  return [
    `! name: ${name}`,
    `! title: ${title}`,
    `! source: ${source.source}`,
    `! licence: ${licence}`,
    `! attribution: ${attribution}`,
    `! retrieved: ${retrieved}`,
    `! count: ${seen.size}`,
    "! Generated by `npm run lens -- registries`; do not edit. A hand-written rule in a lens takes precedence.",
    "! A listing repeats what the source publishes and is not a judgment of ours. docs/ranking.md explains how to object.",
    ...[...groups.keys()].toSorted().flatMap((group) => [group, ...[...(groups.get(group) ?? [])].toSorted()]),
    "",
  ].join("\n");
}

/** The lists have no quoted fields. */
function readCsv(csv: string): Row[] {
  const [head = "", ...lines] = csv.trim().split(/\r?\n/);
  const names = head.split(",");
  return lines.map((line) => {
    const fields = line.split(",");
    return Object.fromEntries(names.map((name, index) => [name, fields[index] ?? ""]));
  });
}

/** Domains that two versions of a registry treat differently: `+` added, `-` removed, `~` in another group. */
export function diffRegistries(before: string, after: string): string[] {
  const old = groupsOf(before);
  const current = groupsOf(after);
  const domains = [...new Set([...old.keys(), ...current.keys()])].toSorted();
  return domains.flatMap((domain) => {
    const [was, is] = [old.get(domain), current.get(domain)];
    if (was === is) return [];
    if (was === undefined) return [`+ ${domain} ${is}`];
    return is === undefined ? [`- ${domain} ${was}`] : [`~ ${domain} ${was} -> ${is}`];
  });
}

function groupsOf(text: string): Map<string, string> {
  const groups = new Map<string, string>();
  let group = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("$")) group = line;
    else if (line !== "" && !line.startsWith("!")) groups.set(line, group);
  }
  return groups;
}
