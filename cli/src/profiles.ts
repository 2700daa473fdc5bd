import { homedir } from "node:os";
import { join } from "node:path";
import { readPrivateFile, writePrivateFile } from "./private-file.ts";
import { UsageError } from "./usage-error.ts";

// A profile is a server URL with its API keys. All profiles are in one file in the platform's configuration folder.

export type KeyKind = "search" | "manage";

export interface Profile {
  url: string;
  keys: Partial<Record<KeyKind, string>>;
}

export function profilesPath(env: NodeJS.ProcessEnv, platform = process.platform): string {
  return join(configFolder(env, platform), "pennyblack", "profiles.json");
}

function configFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  const home = homedir();
  if (platform === "win32") return env["APPDATA"] ?? join(home, "AppData", "Roaming");
  if (env["XDG_CONFIG_HOME"]) return env["XDG_CONFIG_HOME"];
  return platform === "darwin" ? join(home, "Library", "Application Support") : join(home, ".config");
}

export function readProfiles(path: string): Record<string, Profile> {
  const text = readPrivateFile(path);
  if (text === undefined) return {};
  try {
    return JSON.parse(text) as Record<string, Profile>;
  } catch {
    throw new UsageError(`${path} is not valid JSON. Fix it, or delete it and save your profiles again.`);
  }
}

/** Adds the key to the named profile, creating the profile if needed. Replaces an existing key of the same kind. */
export function saveKey(path: string, name: string, { url, key }: { url: string; key: string }): KeyKind {
  const profiles = readProfiles(path);
  const kind = keyKind(key);
  const old = profiles[name];
  // A key must not be used with a server it was not issued for.
  const keys = old?.url === url ? old.keys : {};
  writeProfiles(path, { ...profiles, [name]: { url, keys: { ...keys, [kind]: key } } });
  return kind;
}

export function removeProfile(path: string, name: string): void {
  const { [name]: removed, ...others } = readProfiles(path);
  if (removed === undefined) throw new UsageError(`Profile "${name}" not found.`);
  writeProfiles(path, others);
}

function keyKind(key: string): KeyKind {
  if (!/^pb_(?:live|test|mgmt)_\w+$/.test(key))
    throw new UsageError("Not an API key. Keys start with pb_live_, pb_test_ or pb_mgmt_.");
  return key.startsWith("pb_mgmt_") ? "manage" : "search";
}

function writeProfiles(path: string, profiles: Record<string, Profile>): void {
  writePrivateFile(path, `${JSON.stringify(profiles, null, 2)}\n`);
}
