import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createCli } from "../../server/test/support/clients/run-cli.ts";

const cli = createCli();
after(() => cli.remove());

interface CommandHelp {
  path: string[];
  text: string;
  subcommands: string[];
  options: string[];
}

/** Reads the help of a command and of all its subcommands. */
async function readHelp(path: string[]): Promise<CommandHelp[]> {
  const { out } = await cli.run([...path, "--help"]);
  const section = /\nCommands:\n([\s\S]*?)\n\n/.exec(out)?.[1] ?? "";
  const subcommands = [...section.matchAll(/^ {2}([\w-]+)/gm)].map(([, name = ""]) => name);
  const options = [...out.matchAll(/^ {2}(?:-\w, )?(--?[\w-]+)/gm)].map(([, name = ""]) => name);
  const own = { path, text: out, subcommands, options };
  const names = subcommands.filter((name) => name !== "help");
  const below = await Promise.all(names.map((name) => readHelp([...path, name])));
  return [own, ...below.flat()];
}

const all = await readHelp([]);

test("the help of every command has examples that use only options it lists", () => {
  assert.ok(all.length >= 30, `${all.length} commands`);
  const examples = all.flatMap(({ path, text }) => {
    const lines = [...text.matchAll(/^ {2}\$ (pennyblack .*)$/gm)].map(([, line = ""]) => line);
    assert.ok(lines.length > 0, `pennyblack ${path.join(" ")} --help has no examples`);
    return lines;
  });
  for (const example of examples) {
    const [, ...words] = example.split(/ [|>] /)[0]?.split(" ") ?? [];
    const command = findCommand(words);
    for (const option of words.filter((word) => /^--?[a-z]/.test(word))) {
      assert.ok(command.options.includes(option), `${example}: ${option}`);
    }
  }
});

/** The deepest command that the words name. */
function findCommand(words: string[]): CommandHelp {
  const named = all.filter(({ path }) => path.length > 0 && path.every((name, index) => words[index] === name));
  const command = named.toSorted((a, b) => b.path.length - a.path.length)[0];
  assert.ok(command && command.subcommands.length === 0, `not a command: ${words.join(" ")}`);
  return command;
}

const misspellings: [args: string[], suggestion: string][] = [
  [["serch", "cats"], "(Did you mean search?)"],
  [["keys", "lst"], "(Did you mean list?)"],
  [["search", "cats", "--jsno"], "(Did you mean --json?)"],
];

for (const [args, suggestion] of misspellings) {
  test(`suggests a correction of: pennyblack ${args.join(" ")}`, async () => {
    const { code, err } = await cli.run(args);
    assert.equal(code, 2);
    assert.ok(err.includes(suggestion), err);
  });
}
