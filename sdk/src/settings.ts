// Settings from the environment and the runtime. Browsers and some edge runtimes have no `process`.

/** The version in package.json. */
const version = "0.0.0";

interface RuntimeProcess {
  env?: Record<string, string | undefined>;
  versions?: Record<string, string | undefined>;
}

function findProcess(): RuntimeProcess | undefined {
  return (globalThis as { process?: RuntimeProcess }).process;
}

/** Returns an option, or the environment variable if the option is omitted. */
export function readSetting<Name extends string>(
  name: Name,
  options: Partial<Record<Name, string | undefined>>,
  variable: string,
): string {
  if (!(name in options)) {
    const value = readEnvironment(variable);
    if (value) return value;
    throw new TypeError(`${name} is missing. Pass it to new Pennyblack({ ${name} }), or set ${variable}.`);
  }
  // An option without a value usually comes from an unset variable. The default could be the key of another wallet.
  if (options[name]) return options[name];
  throw new TypeError(
    `${name} is ${options[name] === "" ? "empty" : "undefined"}. Pass a value to new Pennyblack({ ${name} }), or omit ${name} and set ${variable}.`,
  );
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
