import type { PlantedFault } from "./planted-fault.ts";

const translation = "server/src/dialects/to-search.ts";
const derivation = "server/src/dialects/derive-headers.ts";

export const dialectFaults: readonly PlantedFault[] = [
  {
    id: "parameter-ignored-without-request",
    description: "a parameter that would change the results is ignored without a request",
    file: translation,
    find: 'else reject(translation, name, describeRefusal(group, fault), "unsupported");',
    replace: "else translation.ignored.push(name);",
    tests: ["dialects/contract.test"],
    caughtBy: "a parameter that would change the results is refused, unless it is ignored by request",
  },
  {
    id: "unknown-parameter-dropped",
    description: "an unknown parameter is dropped",
    file: translation,
    find: 'else reject(translation, name, describeUnknown(name, Object.keys(dialect.parameters), kindOf(dialect)), "unknown");',
    replace: "",
    tests: ["dialects/contract.test"],
    caughtBy: "unknown parameters, prototype keys and repeated parameters are refused",
  },
  {
    id: "derived-key-without-api-key",
    description: "the derived Idempotency-Key does not depend on the API key",
    file: derivation,
    find: 'createHmac("sha256", key)',
    replace: 'createHmac("sha256", "")',
    tests: ["dialects/contract.test"],
    caughtBy: "the settings of a key become headers, unless the client sent its own",
  },
  {
    id: "repeat-ignored",
    description: "repeat on the key has no effect",
    file: derivation,
    find: '{ "idempotency-key": deriveRepeatKey(derivation, repeatSeconds) }',
    replace: "{}",
    tests: ["stories/compat.test"],
    caughtBy: "the settings of a key ignore parameters, make repeated searches free and set the budget of a chat",
  },
  {
    id: "compat-ignore-any-name",
    description: "compat.ignore accepts any name",
    file: "server/src/keys/compat.ts",
    find: "if (known.includes(name)) return undefined;",
    replace: "if (known.length > 0) return undefined;",
    tests: ["stories/compat.test"],
    caughtBy:
      "compat.ignore of a key accepts groups and parameters of every dialect, and suggests the name that was probably meant",
  },
  {
    id: "repeat-ignored-in-tool-calls",
    description: "repeat on the key has no effect for tool calls",
    file: "server/src/app/mcp-app.ts",
    find: 'findRepeatKey(call, body) ?? sent["idempotency-key"]',
    replace: 'sent["idempotency-key"]',
    tests: ["stories/mcp.test"],
    caughtBy: "with repeat on the key, identical tool calls are charged once, regardless of their Idempotency-Key",
  },
];
