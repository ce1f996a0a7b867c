/** All API requests: every answer is validated here, every failure becomes an ApiError that says what the reader can do. */
import * as v from "valibot";

export interface Problem {
  title: string;
  status: number;
  detail: string;
  advice: string;
}

export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
    this.name = "ApiError";
  }
}

const problemShape = v.looseObject({
  title: v.fallback(v.string(), "The request failed"),
  status: v.fallback(v.number(), 0),
  detail: v.fallback(v.string(), ""),
  advice: v.fallback(v.string(), ""),
});

const UNREACHABLE: Problem = {
  title: "The server does not answer",
  status: 0,
  detail: "No connection to Flitwatch.",
  advice:
    "The page keeps what it has and retries automatically. If this continues, check that the service is running (flitwatch status).",
};

async function problemOf(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => null);
  const parsed = v.safeParse(problemShape, body);
  if (parsed.success && response.headers.get("content-type")?.includes("json"))
    return { ...parsed.output, status: response.status };
  return {
    title: `The server answered ${response.status}`,
    status: response.status,
    detail: response.statusText,
    advice: "Try again shortly.",
  };
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export function address(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value != null && value !== "") parameters.set(key, String(value));
  const text = parameters.toString();
  return `/api/v1${path}${text ? `?${text}` : ""}`;
}

async function request(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(UNREACHABLE);
  }
  if (!response.ok) throw new ApiError(await problemOf(response));
  return response;
}

export async function getJson<S extends v.GenericSchema>(
  shape: S,
  path: string,
  query?: Query,
  signal?: AbortSignal,
): Promise<v.InferOutput<S>> {
  return validated(
    shape,
    path,
    await request(address(path, query), { signal: signal ?? null, headers: { accept: "application/json" } }),
  );
}

let csrf: string | null = null;

/** Changes in a session carry what only this page received (GET /session). */
export function protectChanges(token: string | null): void {
  csrf = token;
}

const protection = (): Record<string, string> => (csrf ? { "x-csrf-token": csrf } : {});

export async function postJson<S extends v.GenericSchema>(
  shape: S,
  path: string,
  body: unknown,
  method: "POST" | "PUT" | "PATCH" = "POST",
): Promise<v.InferOutput<S>> {
  const headers = { accept: "application/json", "content-type": "application/json", ...protection() };
  return validated(shape, path, await request(address(path), { method, headers, body: JSON.stringify(body) }));
}

/** A file as it is: the browser reads it from the disk as it goes. */
export async function postFile<S extends v.GenericSchema>(
  shape: S,
  path: string,
  file: Blob,
): Promise<v.InferOutput<S>> {
  const headers = { accept: "application/json", "content-type": "application/octet-stream", ...protection() };
  return validated(shape, path, await request(address(path), { method: "POST", headers, body: file }));
}

export async function remove(path: string): Promise<void> {
  await request(address(path), { method: "DELETE", headers: protection() });
}

async function validated<S extends v.GenericSchema>(
  shape: S,
  path: string,
  response: Response,
): Promise<v.InferOutput<S>> {
  const parsed = v.safeParse(shape, await response.json());
  if (parsed.success) return parsed.output;
  const issue = parsed.issues[0];
  const where = v.getDotPath(issue) ?? "the answer";
  throw new ApiError({
    title: "The server's answer has an unexpected format",
    status: 200,
    detail: `${path}: ${where}: ${issue.message}`,
    advice: "The page and the server probably have different versions. Reload the page.",
  });
}

export async function getBinary(
  path: string,
  query?: Query,
  signal?: AbortSignal,
  accept = "application/octet-stream",
): Promise<{ body: ArrayBuffer; headers: Headers }> {
  const response = await request(address(path, query), {
    signal: signal ?? null,
    headers: { accept },
  });
  return { body: await response.arrayBuffer(), headers: response.headers };
}
