import assert from "node:assert/strict";
import { test } from "node:test";
import { spreadHosts } from "./spread-hosts.ts";

test("splits a list of hosts into one URL each and keeps the rest", () => {
  assert.deepEqual(spreadHosts("postgres://role:a%2Cb@db1:5432,db2:5433/pennyblack?sslmode=require"), [
    "postgres://role:a%2Cb@db1:5432/pennyblack?sslmode=require",
    "postgres://role:a%2Cb@db2:5433/pennyblack?sslmode=require",
  ]);
  assert.deepEqual(spreadHosts("postgresql://db1,db2/x"), ["postgresql://db1/x", "postgresql://db2/x"]);
  assert.deepEqual(spreadHosts("postgres://role@db1/x?application_name=a,b"), [
    "postgres://role@db1/x?application_name=a,b",
  ]);
  assert.deepEqual(spreadHosts("postgres://role@[::1]:5432/x"), ["postgres://role@[::1]:5432/x"]);
});

test("removes target_session_attrs", () => {
  const attribute = "target_session_attrs=read-write";
  for (const [query, rest] of [
    [`?${attribute}`, ""],
    [`?${attribute}&sslmode=require`, "?sslmode=require"],
    [`?sslmode=require&${attribute}`, "?sslmode=require"],
  ])
    assert.deepEqual(spreadHosts(`postgres://db1,db2/x${query}`)[1], `postgres://db2/x${rest}`);
});
