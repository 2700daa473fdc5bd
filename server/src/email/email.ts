import { createTransport } from "nodemailer";
import type { Pool } from "../db/pool.ts";
import { formatUsd, priceMicros } from "../lib/money.ts";
import { readAlerts } from "../wallet/wallet.ts";
import { writeAlertEmail } from "./write-email.ts";

export { resealEmails, type SealedEmail, sealEmail, sendSignInEmails } from "./sign-in-emails.ts";
export { mintSignInToken, signInLink } from "./sign-in-links.ts";

export interface EmailSenderOptions {
  smtpUrl: string;
  from: string;
}

interface OutgoingEmail {
  id: string;
  to: string;
  subject: string;
  text: string;
}

export interface EmailSender {
  /** Connects and signs in. Rejects if that fails. */
  verify(): Promise<unknown>;
  send(email: OutgoingEmail): Promise<void>;
}

export function createEmailSender({ smtpUrl, from }: EmailSenderOptions): EmailSender {
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    verify: () => transport.verify(),
    async send({ id, to, subject, text }) {
      await transport.sendMail({
        from,
        // An object, because a string could be parsed as a list of addresses.
        to: { name: "", address: to },
        subject,
        text,
        // The same in every attempt, so that a mailbox can drop duplicates.
        messageId: `<${id}@pennyblack>`,
        headers: { "Auto-Submitted": "auto-generated" },
      });
    },
  };
}

export interface SendEmailDependencies {
  pool: Pool;
  mailer: EmailSender;
  topUpUrl: string;
  publicUrl: string;
  onFailure: (failure: { eventId: string; attempt: number; err: unknown }) => void;
}

/** Sends emails that are due and returns the number of attempts. Failures are retried later. */
export async function sendAlertEmails(
  { pool, mailer, topUpUrl, publicUrl, onFailure }: SendEmailDependencies,
  limit: number,
): Promise<number> {
  const { rows } = await pool.query<DueEmail>("select * from pb.claim_alert_emails($1)", [limit]);
  for (const { id, wallet_id: walletId, type, data, attempt } of rows) {
    try {
      const wallet = await readAlerts(pool, walletId);
      const budgetsUrl = `${publicUrl}/console/w/${walletId}/budgets`;
      const context = { walletName: wallet?.name ?? "", topUpUrl, budgetsUrl, price: formatUsd(priceMicros) };
      const message = writeAlertEmail({ type, data }, context);
      if (wallet?.email && message) await mailer.send({ id, to: wallet.email, ...message });
      await pool.query("select pb.finish_alert_email($1)", [id]);
    } catch (err) {
      onFailure({ eventId: id, attempt, err });
    }
  }
  return rows.length;
}

interface DueEmail {
  id: string;
  wallet_id: string;
  type: string;
  data: Record<string, unknown>;
  attempt: number;
}
