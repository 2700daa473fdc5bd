import { formatUsd } from "../lib/money.ts";
import type { Adapter } from "../providers/provider.ts";
import { serverSettings, upstreamVariables, workerSettings } from "./config.ts";
import { Fault } from "./parse-setting.ts";
import { settingGroups, settings } from "./settings.ts";

// The tables of docs/settings.md.

interface Setting {
  variable: string;
  read: (text: string | undefined, environment: NodeJS.ProcessEnv, adapters: readonly Adapter[]) => unknown;
  description?: string;
  defaultText?: string;
}

export function renderSettings(): string {
  return Object.entries(settingGroups)
    .map(([title, group]) => renderGroup(title, group))
    .join("\n\n");
}

export function renderProviderSettings(adapters: readonly Adapter[]): string {
  const rows = adapters.map((adapter) => {
    const cells = [code(adapter.name), upstreamVariables(adapter).map(code).join(", "), describeFilter(adapter)];
    return `| ${cells.join(" | ")} |`;
  });
  return ["| Provider | Settings | Domain filters |", "|---|---|---|", ...rows].join("\n");
}

function describeFilter(adapter: Adapter): string {
  const fields = adapter.defaultFields ?? { title: "", url: "", snippet: "" };
  const { domainFilter: filter } = adapter.create({ url: "https://upstream.invalid", key: "", fields });
  return filter ? `${filter.only} allowed or ${filter.block} excluded` : "none";
}

function renderGroup(title: string, group: Record<string, Setting>): string {
  const rows = Object.entries(group)
    .filter(([, { description }]) => description !== undefined)
    .map(([name, setting]) => {
      const cells = [
        code(setting.variable),
        findProcesses(name, setting),
        describeDefault(setting),
        setting.description,
      ];
      return `| ${cells.join(" | ")} |`;
    });
  return [`## ${title}`, "", "| Setting | Used by | Default | Description |", "|---|---|---|---|", ...rows].join("\n");
}

/** Settings that neither servers nor workers read are those of the admin command. */
function findProcesses(name: string, { variable }: Setting): string {
  const processes = Object.entries({ server: serverSettings, worker: workerSettings })
    .filter(([, names]) => names.some((each) => settings[each].variable === variable))
    .map(([process]) => process);
  if (![...serverSettings, ...workerSettings].some((each) => each === name)) processes.push("admin");
  return processes.join(", ");
}

function describeDefault({ defaultText, read }: Setting): string {
  if (defaultText !== undefined) return defaultText;
  try {
    const value = read(undefined, {}, []);
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return "none";
    return code(typeof value === "bigint" ? formatUsd(value) : `${value as string | number | boolean}`);
  } catch (error) {
    if (error instanceof Fault) return "required";
    throw error;
  }
}

function code(text: string): string {
  return `\`${text}\``;
}
