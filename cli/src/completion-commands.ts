import { Argument, type Command } from "commander";
import { addExamples } from "./add-examples.ts";
import { completeWords } from "./complete-words.ts";
import { completionScripts } from "./completion-scripts.ts";
import type { Context } from "./context.ts";
import { readProfiles } from "./profiles.ts";
import { sanitize } from "./terminal.ts";

export function addCompletionCommands(program: Command, context: Context): void {
  const completion = program
    .command("completion")
    .addArgument(new Argument("<shell>", "your shell").choices(Object.keys(completionScripts)))
    .description("print a completion script for your shell")
    .action((shell: keyof typeof completionScripts) => context.print(completionScripts[shell]));
  addExamples(completion, [
    "pennyblack completion bash > ~/.local/share/bash-completion/completions/pennyblack",
    "pennyblack completion zsh > ~/.zfunc/_pennyblack",
    "pennyblack completion fish > ~/.config/fish/completions/pennyblack.fish",
  ]);
  program.command("__complete [words...]", { hidden: true }).action((words: string[]) => {
    const { candidates, isFile } = completeWords(program, words, listProfileNames(context));
    if (isFile) context.print(":files");
    for (const { text, description } of candidates) context.print(`${text}\t${sanitize(description)}`);
  });
}

/** Omits names that the shell would have to quote. */
function listProfileNames({ profilesPath }: Context): string[] {
  try {
    return Object.keys(readProfiles(profilesPath)).filter((name) => /^[\w.@-]+$/.test(name));
  } catch {
    // Completion has no place to report an unreadable file.
    return [];
  }
}
