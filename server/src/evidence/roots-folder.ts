import { type FileHandle, mkdir, open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

// Exported roots: one JSON object per line in <folder>/YYYY-MM-DD.jsonl, appended and never changed.

/** An hour ("2026-11-16T05:00:00Z") or a day ("2026-11-16"), its root, and the signature that contains both. */
export interface ExportedRoot {
  of: string;
  root: string;
  signed: string;
}

export interface ExportedLine {
  /** "2026-11-16.jsonl:3" */
  place: string;
  /** Undefined if the line cannot be read. */
  root: ExportedRoot | undefined;
}

/** Appends the lines and waits until they are on disk. After a write that was interrupted, starts with a new line. */
export async function appendRoots(folder: string, roots: readonly ExportedRoot[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [day, lines] of Map.groupBy(roots, ({ of }) => of.slice(0, 10))) {
    const file = await open(join(folder, `${day}.jsonl`), "a+");
    try {
      const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
      await file.write((await endsWithinLine(file)) ? `\n${text}` : text);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

async function endsWithinLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString() !== "\n";
}

/** Every line, one file at a time, oldest first. */
export async function* readRoots(folder: string): AsyncGenerator<ExportedLine> {
  for (const name of await listFiles(folder)) yield* await readLines(folder, name);
}

/** The last exported hour and day. Files are read backwards, because the last one is nearly always enough. */
export async function readLastRoots(folder: string): Promise<{ hour: string; day: string }> {
  const last = { hour: "", day: "" };
  for (const name of (await listFiles(folder)).toReversed()) {
    for (const { root } of await readLines(folder, name)) {
      if (!root) continue;
      const kind = root.of.length === 10 ? "day" : "hour";
      if (root.of > last[kind]) last[kind] = root.of;
    }
    if (last.hour !== "" && last.day !== "") break;
  }
  return last;
}

async function listFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  });
  return names.filter((name) => /^\d{4}-\d\d-\d\d\.jsonl$/.test(name)).toSorted();
}

/** An interrupted write leaves the start of a line, which the next run appends in full. */
async function readLines(folder: string, name: string): Promise<ExportedLine[]> {
  const lines = (await readFile(join(folder, name), "utf8")).split("\n").slice(0, -1);
  return lines.flatMap((line, index) =>
    lines[index + 1]?.startsWith(line) ? [] : [{ place: `${name}:${index + 1}`, root: parseLine(line) }],
  );
}

function parseLine(line: string): ExportedRoot | undefined {
  try {
    const { of, root, signed } = JSON.parse(line) as Partial<Record<keyof ExportedRoot, unknown>>;
    return typeof of === "string" && typeof root === "string" && typeof signed === "string"
      ? { of, root, signed }
      : undefined;
  } catch {
    return undefined;
  }
}
