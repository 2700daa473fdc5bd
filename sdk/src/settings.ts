// Settings from the environment and the runtime. Browsers and some edge runtimes have no `process`.

import { check, isText } from "./check-options.ts";

/** The version in package.json. */
const version = "0.0.0";

interface RuntimeProcess {
  env?: Record<string, string | undefined>;
  versions?: Record<string, string | undefined>;
}

function findProcess(): RuntimeProcess | undefined {
  return (globalThis as { process?: RuntimeProcess }).process;
}

interface Settings {
  apiKey?: string | undefined;
  baseUrl?: string | undefined;
}

export function readApiKey(options: Settings): string {
  const apiKey = readSetting("apiKey", options, "PENNYBLACK_API_KEY");
  check(isText(apiKey, /^[\x21-\x7e]+$/), "apiKey must have no spaces, line breaks or characters beyond ASCII.");
  return apiKey;
}

/** Without a slash at the end. */
export function readBaseUrl(options: Settings): string {
  const text = readSetting("baseUrl", options, "PENNYBLACK_URL");
  const isUrl = isText(text, /^https?:\/\//i) && URL.canParse(text);
  check(isUrl, "baseUrl must be a URL that starts with https:// or http://.");
  const { origin, pathname } = new URL(text);
  return origin + pathname.replace(/\/+$/, "");
}

/** Returns an option, or the environment variable if the option is omitted. An empty variable is not set. */
function readSetting(name: keyof Settings, options: Settings, variable: string): string {
  if (!(name in options)) {
    const value = readEnvironment(variable);
    if (value) return value;
    throw new TypeError(`${name} is missing. Pass it to the client, or set ${variable}.`);
  }
  // An option without a value usually comes from an unset variable. The default could be the key of another wallet.
  const value: unknown = options[name];
  if (typeof value === "string" && value !== "") return value;
  const received = value === "" ? "empty" : String(value);
  throw new TypeError(`${name} is ${received}. Pass a value, or omit ${name} and set ${variable}.`);
}

function readEnvironment(variable: string): string | undefined {
  try {
    return findProcess()?.env?.[variable];
  } catch {
    // Deno without permission to read the environment.
    return undefined;
  }
}

/** Such as `pennyblack-sdk/0.1.0 node/24.0.0`. Undefined in browsers, which set their own. */
export function describeRuntime(): string | undefined {
  const { userAgent } = (globalThis as { navigator?: { userAgent?: string } }).navigator ?? {};
  if (userAgent?.startsWith("Mozilla/")) return undefined;
  // Deno and Bun also report the version of Node that they imitate.
  const versions = findProcess()?.versions;
  const runtime = ["deno", "bun", "node"].find((name) => versions?.[name] !== undefined);
  return `pennyblack-sdk/${version}${runtime === undefined ? "" : ` ${runtime}/${versions?.[runtime]}`}`;
}
