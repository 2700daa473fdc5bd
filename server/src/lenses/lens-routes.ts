import { Type } from "typebox";
import { listWords } from "../http/faults.ts";
import { publicProblems, type Route } from "../http/route.ts";
import { suggest } from "../lib/suggest.ts";
import { Problem } from "../problems/problems.ts";
import { type LensFolder, tagOf } from "./lenses.ts";

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
        lenses: folder.list().map(({ name, version, digest, lambda, ruleCount }) => {
          return { name, version, digest, lambda, rules: ruleCount, url: `${publicUrl}/v1/lenses/${name}` };
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
  ];
}

function noSuchLens(requested: string, names: readonly string[]): Problem {
  const meant = suggest(requested, names);
  const advice = meant === undefined ? `The lenses are ${listWords(names, "and")}.` : `Did you mean \`${meant}\`?`;
  return new Problem("not_found", { detail: `No lens has this name. You were not charged. ${advice}` });
}
