import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createFixture } from "../../server/test/fixture.ts";
import { createCli } from "../../server/test/support/clients/run-cli.ts";

// The source policy of a key on the command line, against a real server.

const { server, createWallet } = await createFixture();
const { management } = await createWallet("1.00");
const cli = createCli();
after(() => cli.remove());
const env = { PENNYBLACK_URL: server.url, PENNYBLACK_MANAGEMENT_KEY: management };

async function run(...args: string[]): Promise<string> {
  const { code, out, err } = await cli.run(args, env);
  assert.equal(code, 0, err);
  return out;
}

test("--block and --only set the source policy, and change one list without the other", async () => {
  await run("keys", "create", "--name", "agent", "--mode", "test", "--block", "Example.com", "bücher.example");
  const update = async (...args: string[]): Promise<unknown> =>
    JSON.parse(await run("keys", "update", "agent", ...args, "--json")).sources;
  const block = ["example.com", "xn--bcher-kva.example"];
  assert.deepEqual(await update("--per-day", "1.00"), { block });
  assert.deepEqual(await update("--only", "docs.example.org", "example.net"), {
    block,
    only: ["docs.example.org", "example.net"],
  });
  assert.match(
    await run("keys", "show", "agent"),
    /\nOnly domains +docs\.example\.org, example\.net\nBlocked domains +example\.com, xn--bcher-kva\.example\n/,
  );
  assert.deepEqual(await update("--block", "none"), { only: ["docs.example.org", "example.net"] });
  assert.equal(await update("--only", "none"), null);
  assert.doesNotMatch(await run("keys", "show", "agent"), /domains/);
  const { code, err } = await cli.run(["keys", "update", "agent", "--block", "https://example.com"], env);
  assert.equal(code, 1);
  assert.match(err, /sources\.block\[0\]` must be a domain or host/);
});

test("a search prints how many results the policy removed", async () => {
  const { body } = await server.manage(management, "POST", "/v1/keys", { mode: "test", name: "filtered" });
  const variables = { PENNYBLACK_URL: server.url, PENNYBLACK_API_KEY: body.key, PENNYBLACK_NO_HISTORY: "1" };
  const search = async () => cli.run(["search", "cats", "-n", "20"], variables);
  const all = await search();
  assert.doesNotMatch(all.err, /source policy/);
  const [host = ""] = /(?<=https:\/\/)[^/\s]+/.exec(all.out) ?? [];
  const second = { mode: "test", name: "filtered too", sources: { block: [host] } };
  const created = await server.manage(management, "POST", "/v1/keys", second);
  const some = await cli.run(["search", "cats", "-n", "20"], { ...variables, PENNYBLACK_API_KEY: created.body.key });
  assert.match(some.err, /results? · [1-9]\d* removed by the source policy · 0\.00 USD/);
});
