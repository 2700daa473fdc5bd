import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export interface ReceivedEmail {
  from: string;
  to: string[];
  /** Headers and text as received, without soft line breaks. */
  raw: string;
}

export interface MailServer {
  url: string;
  emails: ReceivedEmail[];
  /** While true, every message is rejected with a temporary error. */
  refuse: (isRefusing: boolean) => void;
  close(): Promise<void>;
}

/** An SMTP server that requires a login and stores the messages it receives. */
export async function startMailServer(): Promise<MailServer> {
  const emails: ReceivedEmail[] = [];
  let isRefusing = false;
  const server = new SMTPServer({
    // Plain text on loopback.
    hideSTARTTLS: true,
    allowInsecureAuth: true,
    onAuth({ username, password }, _session, done) {
      if (username === "alerts" && password === "pass word") done(null, { user: username });
      else done(new Error("wrong password"));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        if (isRefusing) return done(Object.assign(new Error("try again later"), { responseCode: 451 }));
        const { mailFrom, rcptTo } = session.envelope;
        emails.push({
          from: mailFrom ? mailFrom.address : "",
          to: rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString().replaceAll("=\r\n", "").replaceAll("\r\n", "\n"),
        });
        return done();
      });
    },
  });
  const listening = server.listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  return {
    url: `smtp://alerts:pass%20word@127.0.0.1:${port}`,
    emails,
    refuse: (value) => void (isRefusing = value),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}
