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
  const environment = { PATH: `${process.env["PATH"]}:/usr/sbin` };
  const haproxy = killAfterTests(spawn("haproxy", ["-db", "-f", file], { env: environment, stdio: "ignore" }));
  const url = `http://127.0.0.1:${port}`;
  await until("HAProxy listens", async () => {
    if (haproxy.exitCode !== null) throw new Error(`HAProxy exited with ${haproxy.exitCode}`);
    return (await fetch(url).catch(() => undefined)) !== undefined;
  });
  return { url };
}
