import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { choosePort } from "../server/src/dev/choose-port.ts";
import { findProgram } from "../tools/missing-programs.ts";
import type { Harness } from "./harness.ts";

export interface Nginx {
  url: string;
  pid: number;
}

/** Starts a single nginx process that serves these locations. */
export async function startNginx(harness: Harness, name: string, inHttp: string, locations: string): Promise<Nginx> {
  const port = await choosePort({ host: "127.0.0.1" });
  const { folder } = harness;
  const file = join(folder, `nginx-${port}.conf`);
  writeFileSync(file, configuration({ folder, port, inHttp, locations }));
  const args = ["-p", folder, "-c", file, "-e", "stderr"];
  const { pid } = await harness.start({ name, program: findProgram("nginx") ?? "nginx", args, port });
  return { url: `http://127.0.0.1:${port}`, pid };
}

interface Configuration {
  folder: string;
  port: number;
  inHttp: string;
  locations: string;
}

function configuration({ folder, port, inHttp, locations }: Configuration): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `
    daemon off;
    master_process off;
    pid ${folder}/nginx-${port}.pid;
    events { worker_connections 4096; }
    http {
      access_log off;
      ${temporary.map((kind) => `${kind}_temp_path ${folder}/nginx-${port}-${kind};`).join("\n")}
      keepalive_requests 100000000;
      keepalive_timeout 1h;
      open_file_cache max=16 inactive=1h;
      open_file_cache_valid 1h;
      etag off;
      ${inHttp}
      server {
        listen 127.0.0.1:${port} backlog=4096;
        ${locations}
      }
    }`;
}
