import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { choosePort } from "../server/src/dev/choose-port.ts";
import { ensureProgram } from "./ensure-program.ts";
import type { Workshop } from "./workshop.ts";

/** An upstream that answers at once, so that what is measured is ours: nginx, with SearXNG's words from a file. */
export async function startUpstream(workshop: Workshop): Promise<{ url: string }> {
  const program = ensureProgram({ name: "nginx", debianPackage: "nginx-light" });
  const port = await choosePort({ host: "127.0.0.1" });
  const { folder } = workshop;
  writeFileSync(join(folder, "answer.json"), JSON.stringify(answer()));
  writeFileSync(join(folder, "nginx.conf"), configuration(folder, port));
  const args = ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"];
  await workshop.start({ name: "nginx", program, args, port });
  return { url: `http://127.0.0.1:${port}` };
}

function configuration(folder: string, port: number): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `
    daemon off;
    master_process off;
    pid ${folder}/nginx.pid;
    events { worker_connections 4096; }
    http {
      access_log off;
      ${temporary.map((kind) => `${kind}_temp_path ${folder}/nginx-${kind};`).join("\n")}
      keepalive_requests 100000000;
      keepalive_timeout 1h;
      open_file_cache max=16 inactive=1h;
      open_file_cache_valid 1h;
      etag off;
      server {
        listen 127.0.0.1:${port} backlog=4096;
        location = /search { default_type application/json; alias ${folder}/answer.json; }
      }
    }`;
}

/** Twenty results of the shape and size that SearXNG gives. */
function answer(): Record<string, unknown> {
  return {
    query: "postgresql advisory locks in practice",
    number_of_results: 0,
    results: Array.from({ length: 20 }, (_, index) => result(index + 1)),
    answers: [],
    corrections: [],
    infoboxes: [],
    suggestions: ["pg_advisory_lock example", "pg_try_advisory_lock"],
    unresponsive_engines: [["google", "Suspended: CAPTCHA"]],
  };
}

function result(position: number): Record<string, unknown> {
  const host = `www.example-${position}.org`;
  const path = `/docs/15/explicit-locking-${position}.html`;
  return {
    url: `https://${host}${path}?section=advisory#locks`,
    title: `PostgreSQL: Documentation: 15: 13.${position}. Explicit Locking &amp; Advisory Locks`,
    content:
      "PostgreSQL provides a means for creating locks that have application-defined meanings. These are called " +
      "<b>advisory locks</b>, because the system does not enforce their use: it is up to the application to use them " +
      `correctly. (${position})`,
    engine: "duckduckgo",
    template: "default.html",
    parsed_url: ["https", host, path, "", "section=advisory", "locks"],
    engines: ["duckduckgo", "brave"],
    positions: [position, position + 1],
    score: 3 / position,
    category: "general",
  };
}
