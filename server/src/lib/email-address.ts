/** The address in lower case, so that each person has one. Undefined if it is not an email address. */
export function parseEmailAddress(text: string): string | undefined {
  const email = text.trim().toLowerCase();
  return email.length <= 254 && /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email) ? email : undefined;
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
