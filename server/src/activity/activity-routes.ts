import { Readable } from "node:stream";
import { Type } from "typebox";
import type { Pool } from "../db/pool.ts";
import { describeText } from "../http/input/faults.ts";
import { paginate } from "../http/input/paginate.ts";
import {
  anyText,
  dayOrTime,
  InvalidValue,
  oneOf,
  pageSize,
  readQuery,
  uuidOf,
} from "../http/input/query-parameters.ts";
import { decodeWalletCursor, encodeWalletCursor } from "../http/input/wallet-cursor.ts";
import { managementProblems, nextCursor, pageParameters, type Route } from "../http/route.ts";
import { unavailable } from "../http/unavailable.ts";
import type { Guard } from "../keys/keys.ts";
import { describeAct, ownerActs } from "./describe-act.ts";
import { type ActivityFilter, type ActivityLine, activityDays, actors, readActivity } from "./read-activity.ts";

// The list of changes (server/sql/changes.sql) as its owner sees it.

export interface ActivityRouteDependencies {
  tenant: Pool;
  guard: Guard;
}

const scope = "activity:read";
const orNull = (schema: ReturnType<typeof Type.String>, description: string) =>
  Type.Union([schema, Type.Null()], { description });
const values = (description: string) =>
  Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], { description });

const lineSchema = Type.Object(
  {
    id: Type.String({ format: "uuid" }),
    at: Type.String({ format: "date-time" }),
    actor: Type.Object(
      {
        type: Type.Enum(actors, {
          description:
            "`operator`: the operator of this service. `system`: an automatic change, such as disabling a webhook endpoint that keeps failing.",
        }),
        id: orNull(Type.String({ format: "uuid" }), "The id of the person or key."),
        name: orNull(Type.String(), "The email address of the person, or the current name of the key."),
      },
      { title: "ActivityActor" },
    ),
    act: Type.String({ description: "The action, as `<subject>.<verb>`, such as `key.change`." }),
    subject: Type.Object(
      {
        id: Type.String({ description: "The id of the changed subject." }),
        name: orNull(Type.String(), "Its current name. Null if it has none."),
      },
      { title: "ActivitySubject" },
    ),
    summary: Type.String({ description: "The act and the name in words, such as `Changed the key crawler`." }),
    outcome: Type.String({ description: "`done`. An action of the operator can have another outcome." }),
    before: values("The previous values of the fields that changed. Null if there are none."),
    after: values("The new values of the fields that changed. Never a key or a signing secret."),
  },
  { title: "Activity" },
);

const activitySchema = Type.Object(
  {
    activity: Type.Array(lineSchema),
    since: Type.String({ format: "date-time", description: "Earlier changes are not listed." }),
    next_cursor: nextCursor,
  },
  { title: "ActivityList" },
);

const filterParameters = {
  act: Type.String({
    description: "Only this act, such as `key.change`, or all acts of a subject, such as `key`.",
    examples: ["key"],
  }),
  actor: Type.Enum(actors, { description: "Only changes by actors of this type." }),
  actor_id: Type.String({ format: "uuid", description: "Only changes by this person or key." }),
  subject_id: Type.String({ description: "Only changes to this subject, such as the id of a key." }),
  from: Type.String({ description: "Start day or time." }),
  to: Type.String({ description: "End day or time, exclusive." }),
};

export function activityRoutes(dependencies: ActivityRouteDependencies): Route[] {
  return [listRoute(dependencies), exportRoute(dependencies)];
}

function listRoute({ tenant, guard }: ActivityRouteDependencies): Route {
  return {
    method: "GET",
    path: "/v1/activity",
    scope,
    operationId: "listActivity",
    tag: "Activity",
    summary: "List activity",
    description: `Returns the changes of the last ${activityDays} days, newest first, by members in the console, management keys, and the operator of this service. Each change and its line are written in one transaction.`,
    query: { ...filterParameters, ...pageParameters },
    answer: activitySchema,
    problems: ["invalid_request", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await guard(request, reply, scope);
      const { cursor, limit, ...given } = readQuery(request.query, {
        ...filterParsers,
        cursor: anyText,
        limit: pageSize({ default: 50, max: 100 }),
      });
      const filter = toFilter(given);
      const [after] = decodeWalletCursor(walletId, cursor, 1)?.figures ?? [];
      const page = { order: "newest", after, limit: limit + 1 } as const;
      const found = await readActivity(tenant, walletId, filter, page).catch(unavailable);
      const { rows, nextCursor: next } = paginate(found, limit, ({ id, number }) =>
        encodeWalletCursor(walletId, { id, figures: [number] }),
      );
      return { activity: rows.map(serializeLine), since: filter.from.toISOString(), next_cursor: next };
    },
  };
}

function exportRoute({ tenant, guard }: ActivityRouteDependencies): Route {
  return {
    method: "GET",
    path: "/v1/activity.jsonl",
    scope,
    operationId: "exportActivity",
    tag: "Activity",
    summary: "Export activity as JSON Lines",
    description: `Returns the lines of the last ${activityDays} days, oldest first, each as one line of JSON with the fields of the list.`,
    query: filterParameters,
    answer: "application/jsonl",
    problems: ["invalid_request", ...managementProblems],
    handle: async (request, reply) => {
      const { walletId } = await guard(request, reply, scope);
      const filter = toFilter(readQuery(request.query, filterParsers));
      const readPage = (after?: bigint): Promise<ActivityLine[]> =>
        readActivity(tenant, walletId, filter, { order: "oldest", after, limit: 1_000 });
      const first = await readPage().catch(unavailable);
      reply.header("content-type", "application/jsonl; charset=utf-8");
      reply.header("content-disposition", 'attachment; filename="activity.jsonl"');
      return Readable.from(writeLines(first, readPage), { objectMode: false, highWaterMark: 1 });
    },
  };
}

/** One page is in memory at a time; the next is read when the consumer is ready for it. */
async function* writeLines(
  first: ActivityLine[],
  readPage: (after: bigint) => Promise<ActivityLine[]>,
): AsyncGenerator<string> {
  let page = first;
  for (let last = page.at(-1); last; last = page.at(-1)) {
    yield page.map((line) => `${JSON.stringify(serializeLine(line))}\n`).join("");
    page = await readPage(last.number);
  }
}

const filterParsers = {
  act: readAct,
  actor: oneOf(actors),
  actor_id: uuidOf("the id of a person or key"),
  subject_id: anyText,
  from: dayOrTime,
  to: dayOrTime,
};

function readAct(text: string | undefined): string | undefined {
  const isKnown = text === undefined || ownerActs.some((act) => act === text || act.startsWith(`${text}.`));
  if (!isKnown) throw new InvalidValue(`must be an act such as \`key.change\`, or \`key\`, but ${describeText(text)}`);
  return text;
}

type Given = { [Name in keyof typeof filterParsers]: ReturnType<(typeof filterParsers)[Name]> };

function toFilter({ act, actor, actor_id: actorId, subject_id: subject, from, to }: Given): ActivityFilter & {
  from: Date;
} {
  const since = new Date((Math.floor(Date.now() / 86_400_000) - activityDays) * 86_400_000);
  return { act, actor, actorId, subject, from: from && from > since ? from : since, to };
}

function serializeLine(line: ActivityLine) {
  return {
    id: line.id,
    at: line.at.toISOString(),
    actor: { type: line.actor, id: line.actorId, name: line.actorName },
    act: line.act,
    subject: { id: line.subject, name: line.subjectName },
    summary: describeAct(line.act, line.subjectName),
    outcome: line.outcome,
    before: line.before,
    after: line.after,
  };
}
