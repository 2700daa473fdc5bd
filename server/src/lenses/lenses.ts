import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildLenses, type Lens } from "../ranking/ranking.ts";

/** A folder of lenses, which an operator can edit while the server runs. */
export interface LensFolder {
  /** The last version that loaded without faults. */
  current: () => ReadonlyMap<string, Lens>;
  list: () => LensSource[];
  /** Reloads the folder. Returns the faults; if there are any, the previous lenses stay in use. */
  reload: () => string[];
}

export interface LensSource {
  name: string;
  version: string;
  digest: string;
  lambda: number;
  ruleCount: number;
  /** Names of the registries in use. */
  registries: string[];
  text: string;
}

/** Throws LensFaults if the folder is unusable: a server must not start without lenses. */
export function openLenses(folder: string): LensFolder {
  let read = readLenses(folder);
  if (!read.ok) throw new LensFaults(folder, read.faults);
  let { lenses, sources } = read;
  return {
    current: () => lenses,
    list: () => sources,
    reload() {
      read = readLenses(folder);
      if (!read.ok) return read.faults;
      ({ lenses, sources } = read);
      return [];
    },
  };
}

export class LensFaults extends Error {
  constructor(folder: string, faults: readonly string[]) {
    super(`The lenses in ${folder} have ${faults.length} fault(s):\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
  }
}

type Read = { ok: true; lenses: ReadonlyMap<string, Lens>; sources: LensSource[] } | { ok: false; faults: string[] };

export function readLenses(folder: string): Read {
  const files = readFiles(folder);
  if (typeof files === "string") return { ok: false, faults: [files] };
  const built = buildLenses(files);
  if (!built.ok) {
    return { ok: false, faults: built.faults.map(({ file, line, message }) => `${file}:${line}: ${message}`) };
  }
  if (!built.lenses.has("base")) return { ok: false, faults: ["there is no lens named base"] };
  const texts = new Map(files.map(({ file, text }) => [file, text]));
  const sources = [...built.lenses.values()].map(({ name, version, digest, lambda, ruleCount, ...lens }) => {
    const registries = lens.registries.map((registry) => registry.name);
    return { name, version, digest, lambda, ruleCount, registries, text: texts.get(`${name}.lens`) ?? "" };
  });
  const misnamed = sources.filter(({ text }) => text === "").map(({ name }) => `${name} must be in ${name}.lens`);
  return misnamed.length > 0 ? { ok: false, faults: misnamed } : { ok: true, lenses: built.lenses, sources };
}

function readFiles(folder: string): { file: string; text: string }[] | string {
  try {
    const names = readdirSync(folder).filter((file) => /\.(?:lens|registry)$/.test(file));
    return names.toSorted().map((file) => ({ file, text: readFileSync(join(folder, file), "utf8") }));
  } catch (error) {
    return `cannot read the folder: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** ETag of a lens text. */
export function tagOf(text: string): string {
  return `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
}
