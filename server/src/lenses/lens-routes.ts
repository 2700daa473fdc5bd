import { Type } from "typebox";
import type { Route } from "../http/route.ts";
import { Problem } from "../problems.ts";
import { type LensFolder, tagOf } from "./lenses.ts";

const lensesSchema = Type.Object(
  {
    lenses: Type.Array(
      Type.Object({
        name: Type.String({ description: "`base`, or the category it ranks." }),
        version: Type.String({ description: "As in the header `Rank-Lens: name@version`." }),
        digest: Type.String({ description: "Of its text and of the lens it extends: the same digest ranks alike." }),
        lambda: Type.Number({ description: "The share of authority in the score; the rest is the upstream's order." }),
        rules: Type.Integer({ description: "How many rules it has, those it inherits included." }),
        url: Type.String({ format: "uri", description: "Where its text is." }),
      }),
    ),
  },
  { title: "Lenses" },
);

/** Every ranking has a published reason: the rules themselves, for anyone to read. */
export function lensRoutes(folder: LensFolder, publicUrl: string): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/lenses",
      summary: "List the ranking rules",
      description: "The lenses in use: one for each category, and `base` for searches without one.",
      answer: lensesSchema,
      problems: [],
      handle: async () => ({
        lenses: folder.list().map(({ name, version, digest, lambda, ruleCount }) => {
          return { name, version, digest, lambda, rules: ruleCount, url: `${publicUrl}/v1/lenses/${name}` };
        }),
      }),
    },
    {
      method: "GET",
      path: "/v1/lenses/:name",
      summary: "Read a lens",
      description: "The text of a lens: one rule a line, each with its reason.",
      answer: "text/plain",
      problems: ["not_found"],
      handle: async (request, reply) => {
        const { name: wanted } = request.params as { name: string };
        const lens = folder.list().find(({ name }) => name === wanted);
        if (!lens) throw new Problem("not_found");
        reply.type("text/plain; charset=utf-8").header("etag", tagOf(lens.text));
        return lens.text;
      },
    },
  ];
}
