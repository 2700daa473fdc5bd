import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";

export interface SiteFile {
  bytes: Buffer;
  headers: { etag: string; [name: string]: string };
}

const contentTypes: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
};

/** Every file of a built site by its path in the folder, with its response headers. */
export function readSite(folder: string): ReadonlyMap<string, SiteFile> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    entries.flatMap((entry): [string, SiteFile][] => {
      const path = join(entry.parentPath, entry.name);
      const type = contentTypes[extname(entry.name)];
      const name = relative(folder, path).split(sep).join("/");
      return type === undefined ? [] : [[name, describe(name, type, readFileSync(path))]];
    }),
  );
}

function describe(name: string, type: string, bytes: Buffer): SiteFile {
  return {
    bytes,
    headers: {
      etag: `"${digest(bytes).slice(0, 22)}"`,
      "content-type": type,
      // File names in assets/ contain a hash of the content.
      "cache-control": name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "public, no-cache",
      ...(type.startsWith("text/html") && { "content-security-policy": policyOf(bytes.toString("utf8")) }),
    },
  };
}

/**
 * Allows our own scripts and, by hash, the inline scripts the page was built with. Style attributes are allowed, because
 * syntax highlighting uses them; styles cannot load anything from other origins.
 */
function policyOf(html: string): string {
  const inline = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>(.*?)<\/script>/gs)].map(
    ([, text = ""]) => `'sha256-${digest(Buffer.from(text))}'`,
  );
  return [
    "default-src 'none'",
    ["script-src 'self'", ...new Set(inline)].join(" "),
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function digest(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("base64");
}
