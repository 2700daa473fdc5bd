import { Type } from "typebox";
import { describeText, listWords } from "../http/input/faults.ts";
import { InvalidValue, readQuery } from "../http/input/query-parameters.ts";
import { publicProblems, type Route } from "../http/route.ts";
import { suggest } from "../lib/suggest.ts";
import { maxUrlLength, parseWebUrl } from "../lib/web-url.ts";
import { Problem } from "../problems/problems.ts";
import { inspectPage } from "./inspect-page.ts";
import { type LensFolder, tagOf } from "./lenses.ts";

const registryProperties = {
  name: Type.String({ description: "Name of the registry, as in `Rank-Explain`." }),
  title: Type.String({ description: "Title of the published list." }),
  source: Type.String({ format: "uri", description: "URL of the list." }),
  licence: Type.String({ description: "Terms of the list." }),
  attribution: Type.String({ description: "Authors of the list." }),
  retrieved: Type.String({ format: "date", description: "Date of the copy in use." }),
};

const inspectionSchema = Type.Object(
  {
    lens: Type.String({ description: "The lens, as `name@version`." }),
    host: Type.String({ description: "The host that the rules are compared with." }),
    tier: Type.Enum(["A", "B", "C", "N", "D", "E"], { description: "Authority, from `A` to `E`. `N` is neutral." }),
    reason: Type.String({ description: "The reason of the rule, or `unlisted`." }),
    rule: Type.Union([Type.String(), Type.Null()], {
      description: "The rule as written in the lens. Null if no rule matches or the tier comes from a registry.",
    }),
    registry: Type.Union([Type.Object(registryProperties, { title: "Registry" }), Type.Null()], {
      description: "The published list that the tier comes from.",
    }),
    objection_url: Type.String({ format: "uri", description: "How to object to a tier." }),
  },
  { title: "LensInspection" },
);

const lensesSchema = Type.Object(
  {
    lenses: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: "`base`, or the category it ranks." }),
          version: Type.String({ description: "The version in the header `Rank-Lens: name@version`." }),
          digest: Type.String({
            description: "Hash of the lens and the lens it extends. Lenses with the same digest rank identically.",
          }),
          lambda: Type.Number({
            description: "Weight of authority in the score, from 0 to 1. The rest is the upstream's rank.",
          }),
          rules: Type.Integer({ description: "Number of rules, including inherited ones." }),
          registries: Type.Array(Type.String(), { description: "Names of the registries that count as well." }),
          url: Type.String({ format: "uri", description: "URL of the lens text." }),
        },
        { title: "Lens" },
      ),
    ),
  },
  { title: "LensList" },
);

/** The ranking rules are public. */
export function lensRoutes(folder: LensFolder, publicUrl: string): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/lenses",
      operationId: "listLenses",
      tag: "Lenses",
      summary: "List lenses",
      description: "Returns the lenses in use: one per category, and `base` for searches without a category.",
      answer: lensesSchema,
      problems: publicProblems,
      handle: async () => ({
        lenses: folder.list().map(({ name, version, digest, lambda, ruleCount, registries }) => {
          return { name, version, digest, lambda, rules: ruleCount, registries, url: `${publicUrl}/v1/lenses/${name}` };
        }),
      }),
    },
    {
      method: "GET",
      path: "/v1/lenses/:name",
      operationId: "getLens",
      tag: "Lenses",
      summary: "Get a lens",
      description: "Returns the text of a lens: one rule per line, each with its reason.",
      answer: "text/plain",
      problems: ["not_found", ...publicProblems],
      handle: async (request, reply) => {
        const { name: requested } = request.params as { name: string };
        const lens = folder.list().find(({ name }) => name === requested);
        if (!lens)
          throw noSuchLens(
            requested,
            folder.list().map(({ name }) => name),
          );
        reply.type("text/plain; charset=utf-8").header("etag", tagOf(lens.text));
        return lens.text;
      },
    },
    {
      method: "GET",
      path: "/v1/lenses/:name/inspect",
      operationId: "inspectLens",
      tag: "Lenses",
      summary: "Inspect a page",
      description: "Returns the tier of a page in this lens, and the rule or published list behind it.",
      query: { url: Type.String({ description: "URL of the page, or a domain. Required." }) },
      answer: inspectionSchema,
      problems: ["invalid_request", "not_found", ...publicProblems],
      handle: async (request) => {
        const { name: requested } = request.params as { name: string };
        const { url } = readQuery(request.query, { url: pageUrl });
        const lens = folder.current().get(requested);
        if (!lens) throw noSuchLens(requested, [...folder.current().keys()]);
        const { host, tier, why, rule, registry } = inspectPage(lens, url);
        return {
          lens: `${lens.name}@${lens.version}`,
          host,
          tier,
          reason: why,
          rule: rule ?? null,
          registry: registry ?? null,
          objection_url: `${publicUrl}/docs/ranking#objections`,
        };
      },
    },
  ];
}

/** A domain is accepted as well, because people type one. */
function pageUrl(text: string | undefined): string {
  const url = parseWebUrl(text === undefined || /^https?:\/\//i.test(text) ? (text ?? "") : `https://${text}`);
  if (url === undefined || !/^[^.]+(?:\.[^.]+)+\.?$/.test(url.hostname)) {
    const limit = maxUrlLength.toLocaleString("en-US");
    throw new InvalidValue(`must be a URL of at most ${limit} characters or a domain, but ${describeText(text ?? "")}`);
  }
  return url.href;
}

function noSuchLens(requested: string, names: readonly string[]): Problem {
  const meant = suggest(requested, names);
  const advice = meant === undefined ? `The lenses are ${listWords(names, "and")}.` : `Did you mean \`${meant}\`?`;
  return new Problem("not_found", { detail: `No lens has this name. ${advice}` });
}
