import type { Redis } from "ioredis";
import { mailboxOf } from "../accounts/accounts.ts";
import { networkOf } from "../lib/network-of.ts";
import { hmacOf, type Secrets } from "../lib/secrets.ts";
import { type CountUse, createWindowLimit } from "../limits/window-limit.ts";
import type { LimitName } from "../problems/exceeded-limit.ts";
import { Problem } from "../problems/problems.ts";

// Rate limits for sign-in attempts per network and for emails. Counted in Redis across all servers, or per process while
// Redis is unavailable. They do not depend on whether an address is known.
//
// Anyone can request a link for any address, so no limit that others can exhaust is allowed to lock a person out:
//
//   network and mailbox   others have other networks
//   address               all counted links are in the person's mailbox, and each is valid for at least the window
//   mailbox               does not apply to the address of a person; see pb.request_sign_in
//
// Invitations have separate counters.

export interface SignInLimits {
  /** Requests and redemptions of tokens from one network. */
  limitAttempts(ip: string): Promise<void>;
  /** Sign-in links. Returns whether the limit of the mailbox is exceeded. */
  limitLinks(ip: string, email: string): Promise<boolean>;
  /** Invitations by one person, from one network to a mailbox, and to a mailbox. */
  limitInvitations(ip: string, email: string, personId: string): Promise<void>;
}

export const maxAttempts = 60;
export const maxEmailsFromNetwork = 5;
/** Links to one address, links to a mailbox, and invitations to a mailbox. */
export const maxEmailsTo = 10;
export const maxInvitations = 30;
/** Not longer than a link is valid. */
const windowSeconds = 15 * 60;

/** Addresses are counted under an HMAC, so that Redis contains none. */
export function createSignInLimits(redis: Redis | undefined, secrets: Secrets): SignInLimits {
  const digest = (address: string): string => hmacOf(secrets.writer, "email limit", address).toString("base64url");
  const countBy = (
    name: string,
    limit: LimitName,
    max: number,
    fault = "Too many attempts. Nothing was done",
  ): CountUse => createWindowLimit(redis, { name, limit, max, windowSeconds, fault });
  const sent = `${maxEmailsTo} sign-in links were requested for this address within 15 minutes`;
  const countAttempt = countBy("sign-in", "network_sign_ins", maxAttempts);
  const countNetworkLink = countBy("links:network", "mailbox_emails", maxEmailsFromNetwork);
  const countAddressLink = countBy(
    "links:address",
    "mailbox_emails",
    maxEmailsTo,
    `${sent}. Open the newest link in your mailbox`,
  );
  const countMailboxLink = countBy("links:mailbox", "mailbox_emails", maxEmailsTo);
  const countPersonInvitation = countBy("invitations", "person_emails", maxInvitations);
  const countNetworkInvitation = countBy("invitations:network", "mailbox_emails", maxEmailsFromNetwork);
  const countMailboxInvitation = countBy("invitations:mailbox", "mailbox_emails", maxEmailsTo);
  return {
    limitAttempts: (ip) => countAttempt(networkOf(ip)),
    async limitLinks(ip, email) {
      const mailbox = digest(mailboxOf(email));
      await countNetworkLink(`${networkOf(ip)} ${mailbox}`);
      await countAddressLink(digest(email));
      return isExceeded(countMailboxLink(mailbox));
    },
    async limitInvitations(ip, email, personId) {
      const mailbox = digest(mailboxOf(email));
      await countPersonInvitation(personId);
      await countNetworkInvitation(`${networkOf(ip)} ${mailbox}`);
      await countMailboxInvitation(mailbox);
    },
  };
}

function isExceeded(counted: Promise<void>): Promise<boolean> {
  return counted.then(
    () => false,
    (error: unknown) => {
      if (error instanceof Problem) return true;
      throw error;
    },
  );
}
