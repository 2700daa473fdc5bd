import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

export interface SiteFile {
  headers: { etag: string; [name: string]: string };
  /** Uses the best encoding the browser accepts. Each is computed once. */
  encode(acceptEncoding: string): Promise<{ bytes: Buffer; encoding?: "br" | "gzip" }>;
}

export interface SitePage {
  /** Inserts a new nonce each time, for styles injected at runtime. */
  render(): { html: string; policy: string };
}

const contentTypes: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Reads a built console: files by path, and HTML pages by name. */
export function readSite(folder: string): {
  files: ReadonlyMap<string, SiteFile>;
  pages: ReadonlyMap<string, SitePage>;
} {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = new Map<string, SiteFile>();
  const pages = new Map<string, SitePage>();
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path).split(sep).join("/");
    const type = contentTypes[extname(entry.name)];
    if (type !== undefined) files.set(name, createFile(name, type, readFileSync(path)));
    else if (extname(entry.name) === ".html") pages.set(name, createPage(readFileSync(path, "utf8")));
  }
  return { files, pages };
}

function createPage(html: string): SitePage {
  return {
    render() {
      const nonce = randomBytes(16).toString("base64");
      return { html: html.replaceAll("PENNYBLACK_NONCE", nonce), policy: policyFor(nonce) };
    },
  };
}

/**
 * Scripts are allowed only as files from this origin. Inline styles are allowed in attributes, which the charts need, and
 * in elements with the nonce; styles cannot load anything from other origins.
 */
function policyFor(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function createFile(name: string, type: string, bytes: Buffer): SiteFile {
  const isText = !/^(?:image\/png|font\/)/.test(type);
  const compressed = new Map<"br" | "gzip", Promise<Buffer>>();
  return {
    headers: {
      etag: `"${createHash("sha256").update(bytes).digest("base64").slice(0, 22)}"`,
      "content-type": type,
      // File names in assets/ contain a content hash.
      "cache-control": name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "public, no-cache",
      vary: "accept-encoding",
    },
    async encode(acceptEncoding) {
      const encoding = isText && bytes.length > 512 ? chooseEncoding(acceptEncoding) : undefined;
      if (!encoding) return { bytes };
      const bytesPromise = compressed.get(encoding) ?? compress(encoding, bytes);
      compressed.set(encoding, bytesPromise);
      return { bytes: await bytesPromise, encoding };
    },
  };
}

function chooseEncoding(acceptEncoding: string): "br" | "gzip" | undefined {
  const names = acceptEncoding.split(",").map((part) => part.trim().toLowerCase());
  return (["br", "gzip"] as const).find((encoding) =>
    names.some((name) => name === encoding || (name.startsWith(`${encoding};`) && !/;\s*q=0(?:\.0*)?$/.test(name))),
  );
}

/** Asynchronous, in the thread pool. */
function compress(encoding: "br" | "gzip", bytes: Buffer): Promise<Buffer> {
  if (encoding === "gzip") return promisify(gzip)(bytes);
  return promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
}
