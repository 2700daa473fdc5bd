import { readdirSync, readFileSync } from "node:fs";
import type { Adapter, Provider, UpstreamReply } from "../../../src/providers/provider.ts";

export interface Fixture {
  name: string;
  /** The vendor's page it was written from, or the URL it was recorded from. */
  source: string;
  reply: UpstreamReply;
}

const folder = new URL("../../../src/providers/fixtures/", import.meta.url);

export function readFixtures(provider: string): Fixture[] {
  return readdirSync(new URL(`${provider}/`, folder)).map((file) => {
    const text = readFileSync(new URL(`${provider}/${file}`, folder), "utf8");
    const { constructed_from, recorded_from, status, headers, body } = JSON.parse(text) as Record<string, unknown>;
    return {
      name: file.replace(/\.json$/, ""),
      source: String(constructed_from ?? recorded_from),
      reply: {
        status: Number(status),
        headers: headers as Record<string, string>,
        body: typeof body === "string" ? body : JSON.stringify(body),
      },
    };
  });
}

export function readFixture(provider: string, name: string): UpstreamReply {
  const fixture = readFixtures(provider).find((each) => each.name === name);
  if (!fixture) throw new Error(`${provider} has no fixture ${name}`);
  return fixture.reply;
}

export const testKey = "secret-provider-key-4711";
export const testUrl = "https://upstream.example:8443/prefix";

export function switchOn(adapter: Adapter, { key = testKey, fields = adapter.defaultFields } = {}): Provider {
  const names = fields ?? { title: "title", url: "url", snippet: "snippet" };
  return adapter.create({ url: testUrl, key: adapter.key === "none" ? "" : key, fields: names });
}
