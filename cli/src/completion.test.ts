import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createCli } from "../../server/test/support/clients/run-cli.ts";

const cli = createCli();
const main = join(import.meta.dirname, "main.ts");
const config = cli.XDG_CONFIG_HOME;

before(() => {
  mkdirSync(join(config, "pennyblack"), { recursive: true });
  const profile = { url: "https://search.example", keys: {} };
  const profiles = { work: profile, default: profile, "two words": profile };
  writeFileSync(join(config, "pennyblack/profiles.json"), JSON.stringify(profiles), { mode: 0o600 });
  writeFileSync(
    join(cli.home, "pennyblack"),
    `#!/bin/sh\nexec '${process.execPath}' --conditions=@pennyblack/source '${main}' "$@"\n`,
  );
  chmodSync(join(cli.home, "pennyblack"), 0o755);
});
after(() => cli.remove());

const categories = ["programming", "research", "gov", "business"];
const cases: [words: string[], candidates: string[]][] = [
  [["se"], ["search", "searches"]],
  [["__"], []],
  [
    ["keys", "r"],
    ["rotate", "revoke"],
  ],
  [["search", "--ca"], ["--category"]],
  [["search", "cats", "--category", ""], categories],
  [["search", "--category=p"], ["--category=programming"]],
  [["search", "--category", "=", "p"], ["programming"]],
  [["search", "--category", "="], categories],
  [["search", "--", "--ca"], []],
  [
    ["wallet", "--profile", ""],
    ["work", "default"],
  ],
  [["profiles", "remove", "w"], ["work"]],
  [
    ["usage", "--by", ""],
    ["hour", "day"],
  ],
  [["keys", "create", "--out", ""], [":files"]],
  [
    ["webhooks", "create", "https://a.example", "--event", "top"],
    ["top_up.succeeded", "top_up.failed"],
  ],
  [["completion", "z"], ["zsh"]],
];

for (const [words, expected] of cases) {
  test(`completes: pennyblack ${words.join(" ")}`, async () => {
    const { out, err } = await cli.run(["__complete", "--", ...words]);
    const lines = out.split("\n").filter(Boolean);
    assert.deepEqual([lines.map((line) => line.split("\t")[0]), err], [expected, ""]);
  });
}

function findShell(name: string): string | undefined {
  return [`/bin/${name}`, `/usr/bin/${name}`].find((path) => existsSync(path));
}

function runShell(shell: string, script: string): string {
  const env = { PATH: `${cli.home}:/usr/bin:/bin`, HOME: cli.home, XDG_CONFIG_HOME: config };
  return execFileSync(shell, ["-c", script], { env, encoding: "utf8" });
}

const bash = findShell("bash");
const zsh = findShell("zsh");
const fish = findShell("fish");

test("the bash script completes commands, values and options", { skip: !bash && "bash not installed" }, () => {
  const complete = (words: string, index: number) =>
    runShell(
      bash ?? "",
      `source <(pennyblack completion bash); COMP_WORDS=(pennyblack ${words}); COMP_CWORD=${index}; _pennyblack
       echo "\${COMPREPLY[@]}"; complete -p pennyblack`,
    );
  const registration = "complete -F _pennyblack pennyblack\n";
  assert.equal(complete('search --category ""', 3), `${categories.join(" ")}\n${registration}`);
  assert.equal(complete("who", 1), `whoami\n${registration}`);
  // Words after the cursor are ignored.
  assert.equal(complete("keys sh --json", 2), `show\n${registration}`);
});

test("the zsh script is valid", { skip: !zsh && "zsh not installed" }, () => {
  runShell(zsh ?? "", "pennyblack completion zsh | zsh -n");
});

test("the fish script completes commands", { skip: !fish && "fish not installed" }, () => {
  const out = runShell(fish ?? "", "pennyblack completion fish | source; complete -C 'pennyblack who'");
  assert.match(out, /^whoami\t/);
});
