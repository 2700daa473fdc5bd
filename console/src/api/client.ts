// Everything the pages ask of the server goes through here. The session is a cookie that scripts cannot read.

/** A refusal of ours (RFC 9457), or that nobody answered. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly requestId: string | undefined;
  readonly members: Readonly<Record<string, unknown>>;
  readonly headers: Headers;

  constructor(problem: {
    status: number;
    code: string;
    title: string;
    detail: string;
    members?: object;
    headers?: Headers;
  }) {
    super(problem.title);
    this.status = problem.status;
    this.code = problem.code;
    this.detail = problem.detail;
    this.members = { ...problem.members };
    this.headers = problem.headers ?? new Headers();
    const id = this.members["request_id"];
    this.requestId = typeof id === "string" ? id : undefined;
  }
}

export interface ApiRequest {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The answer's body. Where the server wants to see the person again first, they are asked, and it is tried once more. */
export async function api<Answer>(path: string, request: ApiRequest = {}): Promise<Answer> {
  return (await apiWithHeaders<Answer>(path, request)).body;
}

export interface ApiAnswer<Answer> {
  body: Answer;
  headers: Headers;
  status: number;
  ms: number;
}

export async function apiWithHeaders<Answer>(path: string, request: ApiRequest = {}): Promise<ApiAnswer<Answer>> {
  try {
    return await send<Answer>(path, request);
  } catch (error) {
    const isStale = error instanceof ApiProblem && error.code === "reauthentication_required";
    if (!isStale || !(await confirmPerson())) throw error;
    return await send<Answer>(path, request);
  }
}

async function send<Answer>(path: string, request: ApiRequest): Promise<ApiAnswer<Answer>> {
  const { method = "GET", body, headers, signal } = request;
  const startedMs = performance.now();
  const response = await fetch(path, {
    method,
    credentials: "same-origin",
    headers: {
      accept: "application/json",
      ...(method !== "GET" && { "x-pennyblack-csrf": "1" }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw unreachable();
  });
  const text = await response.text().catch(() => {
    throw unreachable();
  });
  if (!response.ok) throw toProblem(response, text);
  const ms = performance.now() - startedMs;
  return {
    body: (text === "" ? undefined : JSON.parse(text)) as Answer,
    headers: response.headers,
    status: response.status,
    ms,
  };
}

function toProblem({ status, headers }: Response, text: string): ApiProblem {
  const fallback = {
    status,
    code: "unknown",
    title: `The server answered ${status}`,
    detail: "It did not say why. Try again in a moment.",
    headers,
  };
  try {
    const members = JSON.parse(text) as Record<string, unknown>;
    const word = (name: string, otherwise: string): string =>
      typeof members[name] === "string" ? members[name] : otherwise;
    return new ApiProblem({
      status,
      code: word("code", fallback.code),
      title: word("title", fallback.title),
      detail: word("detail", fallback.detail),
      members,
      headers,
    });
  } catch {
    return new ApiProblem(fallback);
  }
}

function unreachable(): ApiProblem {
  return new ApiProblem({
    status: 0,
    code: "unreachable",
    title: "The server cannot be reached",
    detail: "What you see may be old. Look at your connection, then try again.",
  });
}

let confirmPerson: () => Promise<boolean> = async () => false;

/** The frame says how a person is asked to sign in anew. */
export function whenConfirmationIsNeeded(ask: () => Promise<boolean>): void {
  confirmPerson = ask;
}

/** Whether two requests are alike enough to be retried: reading is, and only while nobody refused it. */
export function isWorthRetrying(failures: number, error: unknown): boolean {
  return failures < 2 && error instanceof ApiProblem && (error.status === 0 || error.status >= 500);
}
