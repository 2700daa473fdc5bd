import { discoverProvider } from "../../console/console.ts";
import { createEmailSender } from "../../email/email.ts";
import { createCaller } from "../../providers/providers.ts";
import type { DoctorConfig } from "./check-settings.ts";
import { error, type Finding, warning } from "./finding.ts";

// Uses every address of other services once, as the server and the worker do.

/** Connects and signs in. Sends no email. */
export async function checkMail({ smtpUrl, mailFrom }: DoctorConfig): Promise<Finding[]> {
  if (smtpUrl === undefined || mailFrom === undefined)
    return [
      warning(
        "Email is not configured. Alerts, invitations and sign-in links are not sent.",
        "Set PENNYBLACK_SMTP_URL and PENNYBLACK_MAIL_FROM.",
      ),
    ];
  try {
    await createEmailSender({ smtpUrl, from: mailFrom }).verify();
    return [];
  } catch (failure) {
    return [
      error(
        `The mail server of PENNYBLACK_SMTP_URL cannot be used (${codeOf(failure)}).`,
        "Correct its address, user or password.",
      ),
    ];
  }
}

/** Reads the configuration of the OpenID Connect provider. The client secret is used only at a sign-in. */
export async function checkOidc({ oidcIssuer, oidcClientId, oidcClientSecret }: DoctorConfig): Promise<Finding[]> {
  if (oidcIssuer === undefined || oidcClientId === undefined) return [];
  try {
    await discoverProvider({ issuer: oidcIssuer, clientId: oidcClientId, clientSecret: oidcClientSecret });
    return [];
  } catch (failure) {
    return [
      error(
        `PENNYBLACK_OIDC_ISSUER cannot be used (${codeOf(failure)}). People cannot sign in.`,
        "Correct the URL, or wait for the provider.",
      ),
    ];
  }
}

/** Runs one search for one result with each key of each upstream, which may be billed. */
export async function checkUpstreamCalls({ upstreams }: DoctorConfig): Promise<Finding[]> {
  const caller = createCaller({ connectMs: 5_000, headersMs: 9_000, bodyMs: 5_000 });
  const { signal } = new AbortController();
  const answers = await Promise.all(
    upstreams
      .flatMap(({ keys }) => keys)
      .map(async ({ label, provider }) => ({
        label,
        answer: await caller.callProvider(provider, { query: "postgresql", n: 1 }, { signal, deadlineMs: 10_000 }),
      })),
  );
  await caller.close();
  return answers.flatMap(({ label, answer }) =>
    answer.ok
      ? []
      : [
          error(
            `A search with ${answer.provider}${label === undefined ? "" : ` and the key ${label}`} failed: ${answer.reason.replaceAll("_", " ")}.`,
            `Correct its settings. See: npm run providers -- probe ${answer.provider}`,
          ),
        ],
  );
}

/** Omits the text of the error, which can contain the address and its password. */
function codeOf(failure: unknown): string {
  const errors = [failure, failure instanceof Error ? failure.cause : undefined];
  const codes = errors.map((each) => (each instanceof Error && "code" in each ? each.code : undefined));
  return codes.find((code) => typeof code === "string") ?? "no valid response";
}
