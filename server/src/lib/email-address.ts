import { domainToASCII } from "node:url";

/**
 * The one spelling of an address, in lower case, so that each mailbox has one account. Undefined if the text is not an
 * email address or is another way of writing one: quoted, in angle brackets, with a comment or a domain literal. A mail
 * library would deliver those to the same mailbox. Accepts what browsers accept in an email field.
 */
export function parseEmailAddress(text: string): string | undefined {
  const trimmed = text.trim();
  const at = trimmed.lastIndexOf("@");
  const user = trimmed.slice(0, Math.max(at, 0));
  // Before the change to lower case, which turns the Kelvin sign into a "k".
  if (user.length > 64 || !plainUser.test(user)) return undefined;
  const domain = toAscii(trimmed.slice(at + 1));
  const email = `${user}@${domain}`.toLowerCase();
  return email.length <= 254 && plainDomain.test(domain) ? email : undefined;
}

const plainUser = /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;

/** At least two labels. The last one starts with a letter: 192.0.2.1 is not a domain. */
const plainDomain = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/i;

/** Converts an internationalized domain. Leaves others alone, because the conversion would also decode `%65`. */
function toAscii(domain: string): string {
  return /[^\x20-\x7e]/.test(domain) ? domainToASCII(domain) : domain;
}

const dotless = new Set(["gmail.com", "googlemail.com"]);

/**
 * The mailbox behind an address: "ab@gmail.com" for "a.b+c@googlemail.com". Nearly all providers ignore a tag after "+".
 * Never used to send email, only to give each person one trial.
 */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf("@");
  const domain = email.slice(at + 1);
  const user = email.slice(0, at).replace(/(?<=.)\+.*$/, "");
  return dotless.has(domain) ? `${user.replaceAll(".", "")}@gmail.com` : `${user}@${domain}`;
}
