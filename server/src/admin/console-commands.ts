import { readConfig } from "../config.ts";
import { makeSignInLink } from "../console/console.ts";
import { type Command, type CommandContext, CommandFailed, UsageError } from "./command.ts";
import { readOptionalEmail } from "./read-values.ts";

export const consoleCommands: Record<string, Command> = {
  "sign-in-link": {
    usage: "--email EMAIL",
    summary:
      "Make a link that signs a person in to the console, for where no mail is sent. It works once, for 15 minutes.",
    options: { email: { type: "string" } },
    run: makeLink,
  },
};

async function makeLink({ values, pool, print }: CommandContext): Promise<void> {
  const email = readOptionalEmail(values, "email");
  if (email === undefined) throw new UsageError("--email is missing.");
  const { publicUrl } = readConfig(["publicUrl"]);
  const link = await makeSignInLink(pool, { email, publicUrl, lifeMinutes: 15 });
  if (link === undefined) {
    throw new CommandFailed(
      `Nobody is known by ${email}. Invite them, or make an account: npm run admin -- account --help`,
    );
  }
  print(`${link}\n\nWhoever opens it is ${email}. Give it to nobody else.`);
}
