import type { FastifyRequest } from "fastify";
import { describeText } from "../http/input/faults.ts";
import { dayOrTime, InvalidValue, readQuery } from "../http/input/query-parameters.ts";
import type { FindQuery } from "./find.ts";

/** The parameters of GET /operator/find, and of the same look-up in another cell. */
export function readFindQuery(request: FastifyRequest): FindQuery {
  return readQuery(request.query, { text: searchText, from: dayOrTime, to: dayOrTime, outcome });
}

function searchText(text = ""): string {
  if (text.trim().length < 3 || text.length > 300)
    throw new InvalidValue("must have 3 to 300 characters: an id, the start of a key, an email address or a name");
  return text;
}

function outcome(text: string | undefined): string | undefined {
  if (text !== undefined && !/^[a-z_]{1,64}$/.test(text))
    throw new InvalidValue(`must be \`ok\`, \`failed\`, or a problem code, but ${describeText(text)}`);
  return text;
}
