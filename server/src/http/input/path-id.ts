import { Problem } from "../../problems/problems.ts";
import { isUuid } from "./query-parameters.ts";

/** A resource that a path names by its id. */
export interface Resource {
  /** Such as "webhook endpoint". */
  name: string;
  /** The route that lists the ids, such as `GET /v1/webhooks`. */
  list: string;
}

/** The id in the path of a request. A malformed id is a 404, like an id of another wallet. */
export function readPathId(params: unknown, resource: Resource): string {
  const { id } = params as { id: string };
  if (!isUuid(id)) throw noSuchResource(resource, ": ids are UUIDs with 36 characters");
  return id;
}

/** One response for a resource that does not exist and one that belongs to another wallet. */
export function noSuchResource({ name, list }: Resource, hint = ""): Problem {
  return new Problem("not_found", {
    detail: `This wallet has no ${name} with this id${hint}. No changes were made. Find the id with \`${list}\`.`,
  });
}
