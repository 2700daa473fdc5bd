import { makeSignInLink } from "../console/console.ts";
import { type Command, type CommandContext, CommandFailed, UsageError } from "./command.ts";
import { readOptionalEmail } from "./read-values.ts";

export const consoleCommands: Record<string, Command> = {
  "sign-in-link": {
    role: "people",
    changes: true,
    summary: "Create a sign-in link to the console, if email is not configured. It works once, for 15 minutes.",
    required: ["--email <email>"],
    run: makeLink,
  },
};

async function makeLink({ values, pool, print, readSettings, act }: CommandContext): Promise<void> {
  const email = readOptionalEmail(values, "email");
  if (email === undefined) throw new UsageError("--email is required.");
  const { publicUrl } = readSettings(["publicUrl"]);
  const link = await makeSignInLink(pool, { email, publicUrl, ttlMinutes: 15, act });
  if (link === undefined) {
    throw new CommandFailed(
      `No user has the email address ${email}. Invite them or create an account: npm run admin -- account --help`,
    );
  }
  print(`${link}\n\nThis link signs in as ${email}. Do not share it with anyone else.`);
}
