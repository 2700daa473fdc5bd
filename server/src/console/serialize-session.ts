import { unavailable } from "../http/unavailable.ts";
import type { ConsoleDependencies } from "./console-dependencies.ts";
import { readSession } from "./sessions.ts";

/** The signed-in person and the features of this server. */
export async function serializeSession(dependencies: ConsoleDependencies, token: string | undefined): Promise<unknown> {
  const session = token === undefined ? undefined : await readSession(dependencies.people, token).catch(unavailable);
  return {
    person: session?.person ?? null,
    fresh_until: session?.fresh_until ?? null,
    wallets: session?.wallets ?? [],
    sign_in: {
      email: dependencies.features.mail,
      oidc: dependencies.oidc ? { name: dependencies.oidc.name } : null,
      sign_up: dependencies.isSignUpOpen,
    },
    features: dependencies.features,
    top_up: dependencies.topUp,
    public_url: dependencies.publicUrl,
  };
}
