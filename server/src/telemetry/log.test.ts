import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "./log.ts";

const marker = "a secret query";

function logged(write: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = [];
  write(createLog("debug", { write: (line: string) => void lines.push(line) }));
  return lines.join("");
}

test("omits the message of errors that quote their input", () => {
  const causes = [
    () => JSON.parse(`{"query": ${marker}`),
    () => new URL(marker),
    () => decodeURIComponent(`%${marker}`),
    () => Object.defineProperty(Object.freeze({}), marker, {}),
    () => "x".repeat(-1),
  ];
  for (const cause of causes) {
    assert.throws(cause, (error: unknown) => {
      for (const err of [error, new Error("outer", { cause: error })]) {
        const line = logged((log) => log.error({ err }, "failed"));
        assert.ok(!line.includes(marker), line);
        assert.match(line, /"stack":\["at /);
      }
      return true;
    });
  }
});

test("logs only the message and code of an error", () => {
  const err = Object.assign(new Error("duplicate key"), {
    code: "23505",
    detail: marker,
    query: marker,
    input: marker,
  });
  const line = logged((log) => log.error({ err }, "failed"));
  assert.match(line, /duplicate key/);
  assert.match(line, /23505/);
  assert.ok(!line.includes(marker), line);
});

test("logs only the type of a thrown value that is not an Error", () => {
  assert.match(
    logged((log) => log.error({ err: marker }, "failed")),
    /"err":\{"type":"string"\}/,
  );
});

test("redacts headers, passwords and connection strings", () => {
  const line = logged((log) => {
    log.info({ request: { headers: { authorization: marker } }, pool: { connectionString: marker, password: marker } });
    log.info({ req: { url: marker }, res: { body: marker } });
  });
  assert.ok(!line.includes(marker), line);
});

test("keeps the fields beside redacted ones", () => {
  const line = logged((log) => log.info({ pool: { host: "db", password: marker }, req: {}, status: 200 }, "hello"));
  assert.match(line, /"pool":\{"host":"db"\},"status":200,"msg":"hello"/);
});
