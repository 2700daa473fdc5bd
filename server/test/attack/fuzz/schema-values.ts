import fc, { type Arbitrary } from "fast-check";

/** The part of JSON Schema that openapi.json uses. */
export interface Schema {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
}

/** Texts known to break parsers, databases and loggers. */
export const hostileTexts: readonly string[] = [
  "",
  " ",
  "\t\r\n",
  "\u0000",
  "a\u0000b",
  "\u001b[31m",
  "\u007f",
  "\u0085",
  "\u200b",
  "\u202e",
  "\ufeff",
  "\ufffe",
  "\uffff",
  "\u{1f469}\u200d\u{1f692}",
  "\u{10ffff}",
  "e\u0301".repeat(50),
  "İıſK",
  "ﷺ".repeat(80),
  "'; drop table pb.wallets; --",
  "' or 1=1 --",
  "$1",
  "{}",
  "%00",
  "%s%s%n",
  "%",
  "../../etc/passwd",
  "<script>alert(1)</script>",
  "{{7*7}}",
  `\${7*7}`,
  "__proto__",
  "constructor",
  "toString",
  "null",
  "undefined",
  "NaN",
  "-0",
  "1e400",
  "0x10",
  "9007199254740993",
  "99999999999999999999999999999999",
  "-1",
  "0.000001",
  "999999999.999999",
  "1970-01-01T00:00:00Z",
  "2999-12-31",
  "+275760-09-13T00:00:00Z",
  "0000-00-00",
  "a".repeat(255),
  "a".repeat(256),
  "a".repeat(2_048),
  "a".repeat(2_049),
  "\u{1f600}".repeat(2_048),
  "a".repeat(15_000),
];

/** Replacements for a value: unusual or invalid JSON. */
export const hostileJson: readonly string[] = [
  ...hostileTexts.map((text) => JSON.stringify(text)),
  "null",
  "true",
  "[]",
  "{}",
  "0",
  "-0",
  "-1",
  "1.5",
  "10.0",
  "1e2",
  "1E+2",
  "1e400",
  "-1e400",
  "1e-400",
  "2147483648",
  "9007199254740993",
  "123456789012345678901234567890",
  "0".repeat(1) + ".".repeat(1) + "1".repeat(400),
  "9".repeat(5_000),
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\u0000"',
  '"\\x41"',
  '"unfinished',
  "NaN",
  "undefined",
  "+1",
  "01",
  "'single'",
  "[1,]",
  '{"a":1,}',
  '{"__proto__":{"isAdmin":true}}',
  '{"constructor":{"prototype":{}}}',
  `${"[".repeat(8_000)}${"]".repeat(8_000)}`,
  "[".repeat(3_000),
  `${'{"a":'.repeat(1_000)}1${"}".repeat(1_000)}`,
  `[${"null,".repeat(2_000)}null]`,
];

/** Like fast-check's "binary", which takes seconds to initialize. */
const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));

const moments = ["2030-01-31", "2031-05-05T12:00:00Z", "2020-01-01", "2035-02-30", "2030-01-01T00:00:00+14:00"];

/** Fields with rules that the schema does not express. */
const valuesByName: Record<string, Arbitrary<unknown>> = {
  query: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom("cats", "postgresql advisory locks", "café", "日本 新聞", 'c++ "x y" -z') },
    {
      weight: 2,
      arbitrary: fc.constantFrom("test:empty", "test:slow=5", "test:upstream_503", "test:upstream_timeout"),
    },
    { weight: 2, arbitrary: fc.constantFrom("test:internal_error", "test:rate_limited", "test:nothing", "break 500") },
    { weight: 1, arbitrary: fc.constantFrom("break garbage", "break reset", "break 429", "break empty") },
    { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 60 }) },
    { weight: 2, arbitrary: fc.string({ unit: anyCharacter, maxLength: 60 }) },
  ),
  url: fc.oneof(
    fc.constantFrom(
      "https://hooks.example/a",
      "https://hooks.example:8443/a?b=c",
      "http://hooks.example/",
      "https://10.0.0.1/",
    ),
    fc.constantFrom("https://[::1]/", "https://user:pass@hooks.example/", "https://localhost/", "ftp://x", "https://"),
    fc.webUrl({ withQueryParameters: true }),
  ),
  // E-mails per mailbox are limited.
  email: fc.oneof(
    fc.constant("{{address}}"),
    fc.emailAddress(),
    fc.constantFrom("a@b", "x@y\r\nBcc: z@y", "@", "a b@c.example"),
  ),
  expires_at: fc.oneof(fc.constantFrom(...moments), fc.constant(null)),
  success_url: fc.oneof(fc.webUrl({ validSchemes: ["https"] }), fc.constant("https://")),
  cancel_url: fc.webUrl({ validSchemes: ["https"] }),
  amount: fc.constantFrom("5.00", "20.00", "20", "0.01", "0.00", "999999.99", "1000.00", "7.5"),
  threshold: fc.constantFrom("5.00", "0.00", "999999999"),
  monthly_cap: fc.constantFrom("100.00", "20.00", "1.00", "999999999.99"),
  kind: fc.constantFrom("promotion", "invoice", "search", "top_up"),
  from: fc.oneof(fc.constantFrom(...moments), fc.constantFrom(...hostileTexts)),
  to: fc.oneof(fc.constantFrom(...moments), fc.constantFrom(...hostileTexts)),
  group: fc.constantFrom("key", "key,outcome", "category", "key,key", "all", ""),
  cursor: fc.oneof(fc.constant("{{cursor}}"), fc.constantFrom("AAAAAAAAAAAAAAAAAAAAAA", "x", "{{otherCursor}}")),
  key_id: fc.constantFrom("{{liveId}}", "{{liveId}}", "{{testId}}", "{{keyId}}", "{{otherKeyId}}", "x"),
  wallet: fc.constantFrom("{{walletId}}", "{{victimId}}", "x", "00000000-0000-0000-0000-000000000000"),
  return_to: fc.constantFrom("/console/keys", "/console", "//evil.test", "/console/../v1", "https://x", "/console\\\n"),
  request_id: fc.constantFrom("{{requestId}}", "{{otherRequestId}}", "00000000-0000-0000-0000-000000000000", "x"),
};

const domains = fc.array(
  fc.constantFrom(
    "example.com",
    "docs.example.com",
    "bücher.example",
    "xn--bcher-kva.example",
    "com",
    "*.x",
    "192.0.2.1",
  ),
  { maxLength: 2 },
);

const networks = fc.constantFrom(
  "127.0.0.1",
  "10.0.0.0/8",
  "::1",
  "2001:db8::/32",
  "0.0.0.0/0",
  "::/0",
  "10.0.0.1/8",
  "x",
);

/** Values that match the schema, and for known field names also values that almost do. */
export function valuesOf(schema: Schema, name = ""): Arbitrary<unknown> {
  const known = valuesByName[name];
  if (known) return known;
  // A list of domains, and budgets that exist, are rarely generated.
  if (name === "sources")
    return fc.oneof(fc.record({ block: domains }), fc.record({ block: domains, only: domains }), fc.constant(null));
  if (name === "budgets")
    return fc.oneof(fc.constant([]), fc.constant(["{{budgetId}}"]), fc.constant(["{{otherBudgetId}}"]));
  if (name === "allowed_ips") return fc.oneof(fc.array(networks, { minLength: 1, maxLength: 4 }), fc.constant(null));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((each) => valuesOf(each, "")));
  switch (schema.type) {
    case "object":
      return objectsOf(schema);
    case "array":
      return arraysOf(schema);
    case "integer":
      return fc.integer({ min: schema.minimum ?? -10, max: schema.maximum ?? 1_000 });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      return textsOf(schema);
  }
}

function objectsOf({ properties = {}, required = [] }: Schema): Arbitrary<Record<string, unknown>> {
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, valuesOf(schema, name)]),
  );
  return fc.record(members, { requiredKeys: required, noNullPrototype: true });
}

function arraysOf({ items = {}, minItems = 0, maxItems = 4, uniqueItems = false }: Schema): Arbitrary<unknown[]> {
  const length = { minLength: minItems, maxLength: Math.min(maxItems, 5) };
  return uniqueItems ? fc.uniqueArray(valuesOf(items), length) : fc.array(valuesOf(items), length);
}

function textsOf({ pattern, minLength = 0, maxLength = 60 }: Schema): Arbitrary<string> {
  if (pattern !== undefined && maxLength > 200) return fc.stringMatching(new RegExp(pattern), { maxLength: 60 });
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern), { maxLength: Math.min(maxLength, 60) });
  return fc.string({ unit: "grapheme", minLength, maxLength: Math.min(maxLength, 60) });
}
