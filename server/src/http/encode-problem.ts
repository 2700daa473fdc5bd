import type { Problem } from "../problems/problems.ts";

export interface EncodedProblem {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** RFC 9457. `charged` is always false: no error is ever charged. */
export function encodeProblem(
  problem: Problem,
  at: { publicUrl: string; requestId: string; path: string },
): EncodedProblem {
  const { code, status, retryable, detail, retryAfterSeconds, members } = problem;
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      ...problem.headers,
      ...(retryAfterSeconds !== undefined && { "retry-after": String(retryAfterSeconds) }),
    },
    body: JSON.stringify({
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
    }),
  };
}
