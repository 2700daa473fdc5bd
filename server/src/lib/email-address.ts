/** An address as we keep it: in lower case, so that one person is not two. Undefined if it is none. */
export function readEmail(text: string): string | undefined {
  const email = text.trim().toLowerCase();
  return email.length <= 254 && /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(email) ? email : undefined;
}

const dotless = new Set(["gmail.com", "googlemail.com"]);

/**
 * The mailbox behind an address: "a.b+c@googlemail.com" is "ab@gmail.com". A tag after + is the same mailbox nearly
 * everywhere. Mail is never sent to it; it only keeps one person from having two trials.
 */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf("@");
  const domain = email.slice(at + 1);
  const user = email.slice(0, at).replace(/(?<=.)\+.*$/, "");
  return dotless.has(domain) ? `${user.replaceAll(".", "")}@gmail.com` : `${user}@${domain}`;
}
