import type { Adapter, FieldNames, Provider } from "./providers/provider.ts";
import { adapters } from "./providers/providers.ts";
import { ConfigFaults, Fault, httpUrl, type Parse } from "./read-setting.ts";

export function upstreams(order: string | undefined, environment: NodeJS.ProcessEnv): Provider[] {
  const faults: string[] = [];
  const switchedOn = new Map<string, Provider>();
  for (const adapter of adapters) {
    try {
      const provider = readUpstream(adapter, environment);
      if (provider) switchedOn.set(adapter.name, provider);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      faults.push(error.message);
    }
  }
  const names = order?.split(",").map((name) => name.trim());
  if (names && (new Set(names).size < names.length || !names.every((name) => switchedOn.has(name)))) {
    const choices = [...switchedOn.keys()].join(", ") || "none so far";
    faults.push(`PENNYBLACK_UPSTREAMS must name providers that have their settings (${choices}), each once`);
  }
  if (faults.length > 0) throw new ConfigFaults(faults);
  if (names) return names.flatMap((name) => switchedOn.get(name) ?? []);
  return [...switchedOn.values()].toSorted((a, b) => Number(a.costMicros(10) - b.costMicros(10)));
}

/** The provider, or nothing where the operator has not switched it on. */
function readUpstream(adapter: Adapter, environment: NodeJS.ProcessEnv): Provider | undefined {
  const { name, usualUrl, usualFields } = adapter;
  const [switchName = "", ...others] = upstreamVariables(adapter);
  const given = (part: string): string | undefined => environment[upstreamVariable(name, part)]?.trim() || undefined;
  if (!environment[switchName]?.trim()) {
    const idle = others.find((variable) => environment[variable]?.trim());
    if (idle !== undefined) throw new Fault(`${idle} does nothing without ${switchName}`);
    return undefined;
  }
  const key = given("KEY") ?? "";
  if (!/^[\x20-\x7e]*$/.test(key)) throw new Fault(`${upstreamVariable(name, "KEY")} must be printable ASCII`);
  const named = <Value>(part: string, parse: Parse<Value>, usual: Value | undefined): Value | undefined => {
    const text = given(part);
    try {
      return text === undefined ? usual : parse(text);
    } catch (error) {
      throw error instanceof Fault ? new Fault(`${upstreamVariable(name, part)} ${error.message}`) : error;
    }
  };
  const fields = named("FIELDS", fieldNames, usualFields) ?? { title: "title", url: "url", snippet: "snippet" };
  return adapter.create({ url: named("URL", httpUrl, usualUrl) ?? "", key, fields });
}

function fieldNames(text: string): FieldNames {
  const [title, url, snippet, ...rest] = text.split(",").map((part) => part.trim());
  if (!title || !url || !snippet || rest.length > 0) throw new Fault('must look like "title,url,body"');
  return { title, url, snippet };
}

/** The setting that switches a provider on, then the others it has. */
export function upstreamVariables({ name, key, usualFields }: Adapter): string[] {
  const parts = key === "required" ? ["KEY", "URL"] : ["URL", ...(key === "optional" ? ["KEY"] : [])];
  return [...parts, ...(usualFields ? ["FIELDS"] : [])].map((part) => upstreamVariable(name, part));
}

function upstreamVariable(provider: string, part: string): string {
  return `PENNYBLACK_${provider.toUpperCase()}_${part}`;
}
