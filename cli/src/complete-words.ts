import type { Argument, Command, Option } from "commander";

// Completes a command line for the shell scripts in completion-scripts.ts.

export interface Completion {
  candidates: { text: string; description: string }[];
  /** Whether the value is the name of a file, which the shell completes. */
  isFile: boolean;
}

interface Position {
  command: Command;
  /** The option whose value is next. */
  option: Option | undefined;
  /** The number of arguments before the current word. */
  argumentCount: number;
  /** Whether options ended with `--`. */
  isAfterOptions: boolean;
}

/** `words` are the words after the program name, up to and including the one at the cursor. */
export function completeWords(program: Command, words: readonly string[], profileNames: readonly string[]): Completion {
  const position = findPosition(program, words.slice(0, -1));
  // Bash splits `--category=pro` at the equals sign; other shells do not.
  const current = words.at(-1) === "=" && position.option ? "" : (words.at(-1) ?? "");
  const [, flag, value] = /^(--[\w-]+)=(.*)$/s.exec(current) ?? [];
  const assigned = flag === undefined ? undefined : findOption(position.command, flag);
  if (assigned && value !== undefined) return completeValue(assigned, value, { profileNames, prefix: `${flag}=` });
  if (position.option) return completeValue(position.option, current, { profileNames, prefix: "" });
  if (current.startsWith("-") && !position.isAfterOptions) return completeOption(position.command, current);
  return completeArgument(position, current, profileNames);
}

function findPosition(program: Command, words: readonly string[]): Position {
  let position: Position = { command: program, option: undefined, argumentCount: 0, isAfterOptions: false };
  for (const word of words) position = advance(position, word);
  return position;
}

function advance(position: Position, word: string): Position {
  const { command, option, argumentCount, isAfterOptions } = position;
  if (option) return word === "=" ? position : { ...position, option: undefined };
  if (word === "--") return { ...position, isAfterOptions: true };
  if (word.startsWith("-") && !isAfterOptions) {
    const found = findOption(command, word);
    return { ...position, option: found?.required || found?.optional ? found : undefined };
  }
  const subcommand = argumentCount === 0 ? command.commands.find((each) => each.name() === word) : undefined;
  if (subcommand) return { command: subcommand, option: undefined, argumentCount: 0, isAfterOptions };
  return { ...position, argumentCount: argumentCount + 1 };
}

function findOption(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long, short }) => long === flag || short === flag);
}

function completeOption(command: Command, current: string): Completion {
  const options = command.createHelp().visibleOptions(command);
  return select(
    options.flatMap(({ long, short, description }) => ({ text: long ?? short ?? "", description })),
    current,
  );
}

function completeValue(
  option: Option,
  current: string,
  { profileNames, prefix }: { profileNames: readonly string[]; prefix: string },
): Completion {
  if (option.flags.endsWith("<file>")) return { candidates: [], isFile: true };
  const values = option.long === "--profile" ? profileNames : (option.argChoices ?? []);
  return select(
    values.map((value) => ({ text: prefix + value, description: option.description })),
    prefix + current,
  );
}

function completeArgument(
  { command, argumentCount }: Position,
  current: string,
  profileNames: readonly string[],
): Completion {
  const help = command.createHelp();
  const subcommands = argumentCount === 0 ? help.visibleCommands(command) : [];
  const argument = command.registeredArguments[argumentCount];
  const values = argument ? findChoices(command, argument, profileNames) : [];
  return select(
    [
      ...subcommands.map((each) => ({ text: each.name(), description: help.subcommandDescription(each) })),
      ...values.map((value) => ({ text: value, description: argument?.description ?? "" })),
    ],
    current,
  );
}

function findChoices(command: Command, argument: Argument, profileNames: readonly string[]): readonly string[] {
  return command.parent?.name() === "profiles" ? profileNames : (argument.argChoices ?? []);
}

function select(all: Completion["candidates"], prefix: string): Completion {
  return { candidates: all.filter(({ text }) => text.startsWith(prefix)), isFile: false };
}
