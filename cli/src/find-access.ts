import { readPrivateFile } from "./private-file.ts";
import { type KeyKind, type Profile, readProfiles } from "./profiles.ts";
import { UsageError } from "./usage-error.ts";

export interface AccessOptions {
  profile?: string;
  keyFile?: string;
  url?: string;
}

export interface Access {
  apiKey: string;
  baseUrl: string;
}

/**
 * Which key to use, and where: --key-file, else the profile that was named, else the environment, else the default
 * profile. A profile's key goes to the profile's server and not to one that happens to be in the environment.
 */
export function findAccess(
  kind: KeyKind,
  options: AccessOptions,
  { env, path }: { env: NodeJS.ProcessEnv; path: string },
): Access {
  const profile = readProfiles(path)[options.profile ?? "default"];
  if (options.profile !== undefined && !profile) throw new UsageError(`There is no profile "${options.profile}".`);
  const given = options.keyFile === undefined ? undefined : readKeyFile(options.keyFile);
  const outside = given ?? (options.profile === undefined ? readEnvironment(kind, env) : undefined);
  const apiKey = outside ?? profile?.keys[kind];
  if (apiKey === undefined) throw new UsageError(explainMissing(kind, options, profile));
  const baseUrl =
    options.url ?? (outside === undefined || options.profile ? undefined : env["PENNYBLACK_URL"]) ?? profile?.url;
  if (baseUrl === undefined) throw new UsageError("Where is the server? Set PENNYBLACK_URL, or pass --url.");
  if (!/^https?:\/\//.test(baseUrl)) throw new UsageError("The address of the server begins with https:// or http://.");
  return { apiKey, baseUrl };
}

export function readKeyFile(path: string): string {
  const key = readPrivateFile(path)?.trim();
  if (key === undefined) throw new UsageError(`There is no file ${path}.`);
  if (!/^pb_\w+$/.test(key)) throw new UsageError(`${path} holds no key, or more than one.`);
  return key;
}

function readEnvironment(kind: KeyKind, env: NodeJS.ProcessEnv): string | undefined {
  const managing = kind === "manage" ? env["PENNYBLACK_MANAGEMENT_KEY"] : undefined;
  return managing || env["PENNYBLACK_API_KEY"] || undefined;
}

function explainMissing(kind: KeyKind, options: AccessOptions, profile: Profile | undefined): string {
  const [name, start] =
    kind === "manage" ? ["PENNYBLACK_MANAGEMENT_KEY", "pb_mgmt_"] : ["PENNYBLACK_API_KEY", "pb_live_"];
  if (profile)
    return `The profile has no key that begins with ${start}. Add one: pennyblack profiles save ${options.profile ?? ""}`.trim();
  return `No key. Set ${name}, pass --key-file, or run: pennyblack profiles save --url https://...`;
}
