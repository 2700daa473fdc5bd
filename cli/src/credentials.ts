import { readPrivateFile } from "./private-file.ts";
import { type KeyKind, type Profile, readProfiles } from "./profiles.ts";
import { UsageError } from "./usage-error.ts";

export interface CredentialOptions {
  profile?: string;
  keyFile?: string;
  url?: string;
}

export interface Credentials {
  apiKey: string;
  baseUrl: string;
  /** Where the key was found: an option, an environment variable or a profile. */
  source: string;
}

/**
 * Precedence: --key-file, the profile named with --profile, the environment, the default profile. A key from a profile
 * is sent only to that profile's server (or --url), never to PENNYBLACK_URL.
 */
export function resolveCredentials(
  kind: KeyKind,
  options: CredentialOptions,
  { env, path }: { env: NodeJS.ProcessEnv; path: string },
): Credentials {
  const profile = readProfiles(path)[options.profile ?? "default"];
  if (options.profile !== undefined && !profile) throw new UsageError(`Profile "${options.profile}" not found.`);
  const supplied =
    options.keyFile === undefined
      ? keyFromEnv(kind, options.profile === undefined ? env : {})
      : { apiKey: readKeyFile(options.keyFile), source: "--key-file" };
  const apiKey = supplied?.apiKey ?? profile?.keys[kind];
  if (apiKey === undefined) throw new UsageError(missingKeyMessage(kind, options, profile));
  const baseUrl =
    options.url ?? (supplied === undefined || options.profile ? undefined : env["PENNYBLACK_URL"]) ?? profile?.url;
  if (baseUrl === undefined) throw new UsageError("No server URL. Set PENNYBLACK_URL or pass --url.");
  if (!/^https?:\/\//i.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new UsageError("The server URL must be a URL that starts with https:// or http://.");
  }
  const source = supplied?.source ?? `profile ${options.profile ?? "default"}`;
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new UsageError(`The API key of ${source} must have no spaces, line breaks or characters beyond ASCII.`);
  }
  return { apiKey, baseUrl, source };
}

export function readKeyFile(path: string): string {
  const key = readPrivateFile(path)?.trim();
  if (key === undefined) throw new UsageError(`File not found: ${path}`);
  if (!/^pb_\w+$/.test(key)) throw new UsageError(`${path} must contain exactly one API key.`);
  return key;
}

function keyFromEnv(kind: KeyKind, env: NodeJS.ProcessEnv): Omit<Credentials, "baseUrl"> | undefined {
  const names = kind === "manage" ? ["PENNYBLACK_MANAGEMENT_KEY", "PENNYBLACK_API_KEY"] : ["PENNYBLACK_API_KEY"];
  const source = names.find((name) => env[name]);
  const apiKey = source === undefined ? undefined : env[source];
  return source === undefined || apiKey === undefined ? undefined : { apiKey, source };
}

function missingKeyMessage(kind: KeyKind, options: CredentialOptions, profile: Profile | undefined): string {
  const [name, prefix] =
    kind === "manage" ? ["PENNYBLACK_MANAGEMENT_KEY", "pb_mgmt_"] : ["PENNYBLACK_API_KEY", "pb_live_"];
  if (profile)
    return `The profile has no ${prefix} key. Add one with: pennyblack profiles save ${options.profile ?? ""}`.trim();
  return `No API key. Set ${name}, pass --key-file, or run: pennyblack profiles save --url https://...`;
}
