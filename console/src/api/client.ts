// All requests to the server go through this file. The session is an HttpOnly cookie, which scripts cannot read.

/** A problem returned by the server (RFC 9457), or a network failure (status 0). */
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

/** Returns the response body. If the server requires a recent sign-in, prompts for one and retries once. */
export async function api<Body>(path: string, request: ApiRequest = {}): Promise<Body> {
  return (await apiWithHeaders<Body>(path, request)).body;
}

export interface ApiResponse<Body> {
  body: Body;
  headers: Headers;
  status: number;
  ms: number;
}

export async function apiWithHeaders<Body>(path: string, request: ApiRequest = {}): Promise<ApiResponse<Body>> {
  try {
    return await send<Body>(path, request);
  } catch (error) {
    const isReauthenticationRequired = error instanceof ApiProblem && error.code === "reauthentication_required";
    if (!isReauthenticationRequired || !(await reauthenticate())) throw error;
    return await send<Body>(path, request);
  }
}

async function send<Body>(path: string, request: ApiRequest): Promise<ApiResponse<Body>> {
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
    body: parseBody(response, text) as Body,
    headers: response.headers,
    status: response.status,
    ms,
  };
}

function parseBody({ headers }: Response, text: string): unknown {
  if (headers.get("content-type")?.startsWith("text/plain")) return text;
  return text === "" ? undefined : JSON.parse(text);
}

function toProblem({ status, headers }: Response, text: string): ApiProblem {
  const fallback = {
    status,
    code: "unknown",
    title: `The server returned ${status}`,
    detail: "No reason was given. Try again in a moment.",
    headers,
  };
  try {
    const members = JSON.parse(text) as Record<string, unknown>;
    const member = (name: string, fallbackText: string): string =>
      typeof members[name] === "string" ? members[name] : fallbackText;
    return new ApiProblem({
      status,
      code: member("code", fallback.code),
      title: member("title", fallback.title),
      detail: member("detail", fallback.detail),
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
    title: "Can't reach the server",
    detail: "The data shown may be out of date. Check your connection and try again.",
  });
}

let reauthenticate: () => Promise<boolean> = async () => false;

/** Registers the dialog that asks the user to sign in again. */
export function setReauthenticate(prompt: () => Promise<boolean>): void {
  reauthenticate = prompt;
}

/** Retries a query up to twice, and only after a network failure or a 5xx. */
export function shouldRetry(failures: number, error: unknown): boolean {
  return failures < 2 && error instanceof ApiProblem && (error.status === 0 || error.status >= 500);
}
