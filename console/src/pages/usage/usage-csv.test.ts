import assert from "node:assert/strict";
import { test } from "node:test";
import { toUsageCsv } from "./usage-csv.ts";

test("exports the visible lines in UTC and USD", () => {
  const lines = [
    { start: "2030-01-01T00:00:00Z", mode: "live" as const, key_id: "k1", searches: 3, charged: "0.03" },
    {
      start: "2030-01-02T00:00:00Z",
      mode: "live" as const,
      key_id: "gone",
      searches: 1,
      replays: 2,
      refusals: 40,
      charged: "0.00",
    },
  ];
  const keyNames = new Map([["k1", "=Production, EU"]]);
  assert.equal(
    toUsageCsv(lines, { by: "day", group: "key", keyNames }),
    'day_utc,mode,key_id,key_name,searches,replays,refusals,charged_usd\r\n2030-01-01T00:00:00Z,live,k1,"\'=Production, EU",3,0,0,0.03\r\n2030-01-02T00:00:00Z,live,gone,,1,2,40,0.00\r\n',
  );
  const forEndUser = [
    { ...lines[0], start: "2030-01-01T00:00:00Z", mode: "live" as const, searches: 3, charged: "0.03" },
  ];
  assert.equal(
    toUsageCsv(
      forEndUser.map((line) => ({ ...line, end_user: "~Zm9vYmFyYmF6cXV4MTIzNA" })),
      { by: "day", group: "end_user", keyNames },
    ),
    "day_utc,mode,end_user,searches,charged_usd\r\n2030-01-01T00:00:00Z,live,~Zm9vYmFyYmF6cXV4MTIzNA,3,0.03\r\n",
  );
  assert.match(
    toUsageCsv(lines, { by: "day", group: undefined, keyNames }),
    /^day_utc,mode,searches,replays,refusals,charged_usd\r\n/,
  );
});
