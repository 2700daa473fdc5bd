import type { Problem } from "../problems/problems.ts";

export interface EncodedProblem {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The members of every problem that a shape can use. */
export interface ProblemBody {
  status: number;
  title: string;
  detail: string;
  code: string;
  request_id: string;
}

export type ShapeProblem = (problem: ProblemBody) => object;

export interface ProblemContext {
  publicUrl: string;
  requestId: string;
  path: string;
  /** Whether the request is a search, or may be one. */
  isSearch: boolean;
}

/** RFC 9457, unless `shape` writes it for clients of another API. `charged` is always false: no error is ever charged. */
export function encodeProblem(problem: Problem, at: ProblemContext, shape?: ShapeProblem): EncodedProblem {
  const { code, status, retryable, retryAfterSeconds, members } = problem;
  const detail = at.isSearch ? problem.detail : problem.detailWithoutCharge;
  const body = {
    type: `${at.publicUrl}/problems/${code}`,
    title: problem.title,
    status,
    detail,
    instance: at.path,
    code,
    request_id: at.requestId,
    retryable,
    charged: false,
    ...members,
  };
  return {
    status,
    headers: {
      "content-type": shape ? "application/json; charset=utf-8" : "application/problem+json",
      ...problem.headers,
      ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
    },
    body: JSON.stringify(shape ? shape(body) : body),
  };
}
