/** What each search says. */
export interface Question {
  path: string;
  body: string;
  /** Beside the key and what every request has. */
  headers: Record<string, string>;
}

export const ourQuestion: Question = {
  path: "/v1/search",
  body: JSON.stringify({ query: "postgresql advisory locks in practice", n: 10 }),
  headers: {},
};
