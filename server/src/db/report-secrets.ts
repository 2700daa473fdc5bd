import { checkValueOf, type SwitchableSecrets } from "../lib/secrets.ts";
import type { Queryable } from "./pool.ts";

// Reports every few seconds which versions of PENNYBLACK_SECRET this process lists, and adopts the writing version. If the
// database is unavailable, the process continues under the last one: all processes read every version.

export interface SecretReports {
  /** Reports now. Returns why this process must not run, or undefined if it may. Rejects if the database is unavailable. */
  report(): Promise<string | undefined>;
  /** The result of the last report. */
  lastFault(): string | undefined;
  /** Reports that this process has stopped. Never rejects. */
  close(): Promise<void>;
}

export interface SecretReportOptions {
  db: Queryable;
  secrets: SwitchableSecrets;
  processId: string;
  intervalMs?: number;
}

export function startSecretReports(options: SecretReportOptions): SecretReports {
  const { db, secrets, processId, intervalMs = 5_000 } = options;
  let fault: string | undefined;

  async function send(hasStopped: boolean): Promise<SecretState | undefined> {
    const { rows } = await db.query<SecretState>("select * from pb.report_secrets($1, $2, $3, $4)", [
      processId,
      secrets.all.map(({ version }) => version),
      secrets.all.map(checkValueOf),
      hasStopped,
    ]);
    return rows[0];
  }

  async function report(): Promise<string | undefined> {
    const state = await send(false);
    if (!state) throw new Error("pb.report_secrets returned no row");
    fault = findFault(secrets, state);
    if (fault === undefined) secrets.use(state.writing_version);
    return fault;
  }

  const timer = setInterval(() => {
    report().catch(() => undefined);
  }, intervalMs).unref();

  return {
    report,
    lastFault: () => fault,
    async close() {
      clearInterval(timer);
      await send(true).catch(() => undefined);
    },
  };
}

interface SecretState {
  writing_version: number;
  check_value: Buffer | null;
  required: number[];
}

function findFault({ all }: SwitchableSecrets, state: SecretState): string | undefined {
  const missing = state.required.find((version) => !all.some((secret) => secret.version === version));
  if (missing !== undefined) {
    return `PENNYBLACK_SECRET does not list version ${missing}, which values in the database need. Add it to the list.`;
  }
  const writer = all.find(({ version }) => version === state.writing_version);
  if (writer && state.check_value && !checkValueOf(writer).equals(state.check_value)) {
    return `PENNYBLACK_SECRET has a different secret as version ${writer.version} than the other servers. Correct it.`;
  }
  return undefined;
}
