import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "./log.ts";

const marker = "a query nobody may read";

function logged(write: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = [];
  write(createLog("debug", { write: (line: string) => void lines.push(line) }));
  return lines.join("");
}

test("an error whose message quotes what it could not read is logged without its message", () => {
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

test("what an error carries besides its message and code is not logged", () => {
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

test("something thrown that is no error is logged as what kind of thing it is", () => {
  assert.match(
    logged((log) => log.error({ err: marker }, "failed")),
    /"err":\{"type":"string"\}/,
  );
});

test("headers, passwords and connection strings are taken out if a library logs them", () => {
  const line = logged((log) => {
    log.info({ request: { headers: { authorization: marker } }, pool: { connectionString: marker, password: marker } });
    log.info({ req: { url: marker }, res: { body: marker } });
  });
  assert.ok(!line.includes(marker), line);
});

test("what stands beside them stays", () => {
  const line = logged((log) => log.info({ pool: { host: "db", password: marker }, req: {}, status: 200 }, "hello"));
  assert.match(line, /"pool":\{"host":"db"\},"status":200,"msg":"hello"/);
});
