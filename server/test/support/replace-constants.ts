import { type Constants, constants } from "../../src/config/constants.ts";
import { adapters } from "../../src/providers/providers.ts";

// Tests replace constants and the URLs of vendors, of the servers in their own process and, with this file as a preload, of the processes that they
// start. The product does not read these variables.

const prefix = "PENNYBLACK_TEST_CONSTANT_";
const urlPrefix = "PENNYBLACK_TEST_URL_";
const preload = { NODE_OPTIONS: `--import=${import.meta.filename}` };

/** Settings of a test server or process that replace constants. Settings that are merged later take precedence. */
export function replaceConstants(values: Partial<Constants>): Record<string, string> {
  const variables = Object.entries(values).map(([name, value]) => [prefix + name, JSON.stringify(value)]);
  return { ...preload, ...Object.fromEntries(variables) };
}

/** Settings of a test server or process that sends the searches of a provider to a stub. */
export function replaceUrl(provider: string, url: string): Record<string, string> {
  return { ...preload, [urlPrefix + provider]: url };
}

/** Applies to the configurations that this process reads afterwards. */
export function replaceUrls(settings: NodeJS.ProcessEnv): void {
  for (const adapter of adapters) {
    const url = settings[urlPrefix + adapter.name];
    if (url !== undefined) adapter.defaultUrl = url;
  }
}

/** The constants that settings replace. */
export function readReplaced(settings: NodeJS.ProcessEnv): Partial<Constants> {
  const names = Object.keys(settings).filter((name) => name.startsWith(prefix));
  return Object.fromEntries(names.map((name) => [name.slice(prefix.length), JSON.parse(settings[name] ?? "")]));
}

Object.assign(constants, readReplaced(process.env));
replaceUrls(process.env);
