import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

// The schema on disk: migrations create tables, server/sql/ has the current functions, policies, triggers and grants.

/** A file of server/sql, or one policy or trigger of it. Applied when its checksum differs from the recorded one. */
export interface SchemaObject {
  name: string;
  text: string;
  checksum: string;
}

export interface SchemaFiles {
  /** Rises with every change of the migrations or of server/sql; see server/sql/VERSION. */
  version: number;
  migrationsFolder: string;
  /** In order, with their checksums, named as the database records them. */
  migrations: Pick<SchemaObject, "name" | "checksum">[];
  /** In the order of server/sql/order.txt. */
  objects: SchemaObject[];
}

export const serverFolder = new URL("../../", import.meta.url).pathname;

export function readSchemaFiles(folder = serverFolder): SchemaFiles {
  const migrationsFolder = join(folder, "migrations");
  return {
    version: readSchemaVersion(folder),
    migrationsFolder,
    migrations: listSql(migrationsFolder).map((file) => {
      const text = readFileSync(join(migrationsFolder, file), "utf8");
      return { name: file.slice(0, -".sql".length), checksum: checksumOf(text) };
    }),
    objects: readOrder(folder).flatMap((file) => readObjects(file, readFileSync(join(folder, "sql", file), "utf8"))),
  };
}

export function readSchemaVersion(folder = serverFolder): number {
  return parseVersion(readFileSync(join(folder, "sql/VERSION"), "utf8")).version;
}

export function parseVersion(text: string): { version: number; checksum: string } {
  const [, version, checksum = ""] = /^(\d+) ([0-9a-f]{64})\n$/.exec(text) ?? [];
  return { version: Number(version ?? 0), checksum };
}

/** The checksum of everything that determines the schema. `npm run generate` raises the version when it changes. */
export function checksumOfSchema(folder = serverFolder): string {
  const files = [
    ...listSql(join(folder, "migrations")).map((file) => `migrations/${file}`),
    "sql/order.txt",
    ...readOrder(folder).map((file) => `sql/${file}`),
  ];
  const hash = createHash("sha256");
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(folder, file)));
  return hash.digest("hex");
}

function listSql(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .toSorted();
}

function readOrder(folder: string): string[] {
  return readFileSync(join(folder, "sql/order.txt"), "utf8").trim().split("\n");
}

/** Replacing a policy or trigger locks its table, so only the changed ones are applied, one by one. */
function readObjects(file: string, text: string): SchemaObject[] {
  if (file !== "policies.sql" && file !== "triggers.sql") return [toObject(file, text)];
  return text
    .split("\n\n")
    .filter((block) => /^create /m.test(block))
    .map((block) => {
      const [, kind, name, table] =
        /^create (?:or replace )?(?:constraint )?(policy|trigger) (\w+)\s[^;]*?\bon (pb\.\w+)/m.exec(block) ?? [];
      if (!kind) throw new Error(`${file}: a block must create one policy or trigger: ${block}`);
      return toObject(`${kind} ${name} on ${table}`, block);
    });
}

function toObject(name: string, text: string): SchemaObject {
  return { name, text, checksum: checksumOf(text) };
}

function checksumOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
