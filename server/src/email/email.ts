import { createTransport } from "nodemailer";
import type { Pool } from "../db/pool.ts";
import { formatUsd, priceMicros } from "../lib/money.ts";
import { readAlerts } from "../wallet/wallet.ts";
import { writeMail } from "./write-mail.ts";

export interface MailerOptions {
  smtpUrl: string;
  from: string;
}

interface Letter {
  id: string;
  to: string;
  subject: string;
  text: string;
}

export interface Mailer {
  send(letter: Letter): Promise<void>;
}

export function createMailer({ smtpUrl, from }: MailerOptions): Mailer {
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 20_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ id, to, subject, text }) {
      await transport.sendMail({
        from,
        // As an address, never as a list that could name several.
        to: { name: "", address: to },
        subject,
        text,
        // The same in every attempt, so that a mailbox can drop a second copy.
        messageId: `<${id}@pennyblack>`,
        headers: { "Auto-Submitted": "auto-generated" },
      });
    },
  };
}

export interface SendMailParts {
  /** As the owner. */
  pool: Pool;
  mailer: Mailer;
  topUpUrl: string;
  onFailure: (failure: { eventId: string; attempt: number; err: unknown }) => void;
}

/** Sends mail that is due; what fails is due again later. Says how many it tried. */
export async function sendMail({ pool, mailer, topUpUrl, onFailure }: SendMailParts, most: number): Promise<number> {
  const { rows } = await pool.query<DueMail>("select * from pb.claim_mail($1)", [most]);
  for (const { id, wallet_id: walletId, type, data, attempt } of rows) {
    try {
      const wallet = await readAlerts(pool, walletId);
      const context = { walletName: wallet?.name ?? "", topUpUrl, price: formatUsd(priceMicros) };
      const mail = writeMail({ type, data }, context);
      if (wallet?.email && mail) await mailer.send({ id, to: wallet.email, ...mail });
      await pool.query("update pb.events set mail_due_at = null where id = $1", [id]);
    } catch (err) {
      onFailure({ eventId: id, attempt, err });
    }
  }
  return rows.length;
}

interface DueMail {
  id: string;
  wallet_id: string;
  type: string;
  data: Record<string, unknown>;
  attempt: number;
}
