import { unavailable } from "../http/unavailable.ts";
import type { ConsoleParts } from "./console-parts.ts";
import { showSession } from "./sessions.ts";

/** What the browser knows of who is signed in and of this installation. */
export async function showView(parts: ConsoleParts, token: string | undefined): Promise<unknown> {
  const session = token === undefined ? undefined : await showSession(parts.people, token).catch(unavailable);
  return {
    person: session?.person ?? null,
    fresh_until: session?.fresh_until ?? null,
    wallets: session?.wallets ?? [],
    sign_in: {
      email: parts.features.mail,
      oidc: parts.oidc ? { name: parts.oidc.name } : null,
      sign_up: parts.isSignUpOpen,
    },
    features: parts.features,
    top_up: parts.topUp,
    public_url: parts.publicUrl,
  };
}
