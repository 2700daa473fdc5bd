/** The HTTP request sent for each search. */
export interface BenchRequest {
  path: string;
  body: string;
  /** In addition to the standard headers. */
  headers: Record<string, string>;
}

export const searchRequest: BenchRequest = {
  path: "/v1/search",
  body: JSON.stringify({ query: "postgresql advisory locks in practice", n: 10 }),
  headers: {},
};
