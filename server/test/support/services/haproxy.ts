import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { choosePort } from "../../../src/dev/choose-port.ts";
import { until } from "../assertions/until.ts";
import { killAfterTests } from "./node-process.ts";

/** HAProxy in front of a server, as operators run it: HTTP mode, with the public host name. */
export async function startHaproxy(serverUrl: string, publicHost: string): Promise<{ url: string }> {
  const folder = mkdtempSync(join(tmpdir(), "pennyblack-haproxy-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const port = await choosePort({ host: "127.0.0.1" });
  const file = join(folder, "haproxy.cfg");
  writeFileSync(
    file,
    `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend public
  bind 127.0.0.1:${port}
  http-request set-header Host ${publicHost}
  option forwardfor
  default_backend servers
backend servers
  server one ${new URL(serverUrl).host}
`,
  );
  const url = `http://127.0.0.1:${port}`;
  await runHaproxy(file, url);
  return { url };
}

/** Runs HAProxy until the tests of the file end. Returns its log. */
export async function runHaproxy(file: string, url: string): Promise<{ log: () => string }> {
  const env = { PATH: `${process.env["PATH"]}:/usr/sbin` };
  const haproxy = killAfterTests(spawn("haproxy", ["-db", "-f", file], { env, stdio: ["ignore", "pipe", "inherit"] }));
  let log = "";
  haproxy.stdout.setEncoding("utf8").on("data", (text: string) => (log += text));
  await until("HAProxy listens", async () => {
    if (haproxy.exitCode !== null) throw new Error(`HAProxy exited with ${haproxy.exitCode}`);
    return (await fetch(url).catch(() => undefined)) !== undefined;
  });
  return { log: () => log };
}
