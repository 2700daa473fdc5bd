import type { Resource } from "../http/input/path-id.ts";

export const keyResource: Resource = { name: "key", list: "GET /v1/keys" };
