import { generatedValues } from "./fuzz-fixture.ts";
import type { Input } from "./inputs.ts";
import type { Tenant } from "./tenant.ts";

/** Replaces the placeholders and adds a client address. */
export function fillIn(input: Input, tenant: Tenant, otherTenant: Tenant): Input {
  const replace = (text: string): string =>
    text.replaceAll(/\{\{(other)?(\w+)\}\}/g, (_whole, other: string | undefined, word: string) => {
      const name = word.charAt(0).toLowerCase() + word.slice(1);
      const values = (other ? otherTenant : tenant)[name] ?? [];
      if (word.endsWith("Once")) return values.pop() ?? "used-up";
      return values[input.pick % Math.max(1, values.length)] ?? generatedValues[name]?.() ?? "nothing-yet";
    });
  const from = `198.18.${Math.floor(Math.random() * 16)}.${Math.floor(Math.random() * 250)}`;
  return {
    ...input,
    target: replace(input.target),
    headers: [
      ...input.headers.map(([name, value]): [string, string] => [name, replace(value)]),
      ["x-forwarded-for", from],
    ],
    body: typeof input.body === "string" ? replace(input.body) : input.body,
  };
}
