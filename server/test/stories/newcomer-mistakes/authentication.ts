import { authorize, json, type Mistake, post, search } from "./mistake.ts";

// The API key is missing, malformed or of the wrong kind.

export const authenticationMistakes: Mistake[] = [
  [
    "no API key",
    post(json),
    "401 authentication_required",
    "The request has no API key. You were not charged. Send the key as `Authorization: Bearer <API_KEY>` or `x-api-key: <API_KEY>`, not in the URL or the body.",
  ],
  [
    "Authorization without Bearer",
    authorize((key) => key),
    "401 authentication_required",
    "The `Authorization` header has an API key without the word `Bearer` before it. You were not charged. Send the key as `Authorization: Bearer <API_KEY>` or `x-api-key: <API_KEY>`, not in the URL or the body.",
  ],
  [
    "Bearer and an empty variable",
    authorize(() => "Bearer "),
    "401 authentication_required",
    "The `Authorization` header has no API key after `Bearer`. You were not charged. Send the key as `Authorization: Bearer <API_KEY>` or `x-api-key: <API_KEY>`, not in the URL or the body.",
  ],
  [
    "an empty x-api-key",
    post({ ...json, "x-api-key": "" }),
    "401 authentication_required",
    "The `x-api-key` header is empty. You were not charged. Send the key as `Authorization: Bearer <API_KEY>` or `x-api-key: <API_KEY>`, not in the URL or the body.",
  ],
  [
    "Basic authentication",
    authorize(() => "Basic cGI6a2V5"),
    "401 authentication_required",
    "The `Authorization` header uses the scheme `Basic`, but only `Bearer` is supported. You were not charged. Send the key as `Authorization: Bearer <API_KEY>` or `x-api-key: <API_KEY>`, not in the URL or the body.",
  ],
  [
    "Bearer with a colon",
    authorize((key) => `Bearer: ${key}`),
    "401 authentication_required",
    "The `Authorization` header must have a space, and nothing else, between `Bearer` and the key. You were not charged. Send the key as `Authorization: Bearer <API_KEY>` or `x-api-key: <API_KEY>`, not in the URL or the body.",
  ],
  [
    "a variable in single quotes",
    authorize(() => "Bearer $PENNYBLACK_API_KEY"),
    "401 api_key_invalid",
    "The API key is a placeholder, not the value of a key. You were not charged. Send the whole key, which starts with `pb_live_`, `pb_test_` or `pb_mgmt_` and has 44 or 55 characters.",
  ],
  [
    "a key in quotes",
    authorize((key) => `Bearer "${key}"`),
    "401 api_key_invalid",
    "The API key is in quotes. You were not charged. Send the whole key, which starts with `pb_live_`, `pb_test_` or `pb_mgmt_` and has 44 or 55 characters.",
  ],
  [
    "a truncated key",
    authorize((key) => `Bearer ${key.slice(0, 40)}`),
    "401 api_key_invalid",
    "The API key has 40 characters instead of 44. You were not charged. Send the whole key, which starts with `pb_live_`, `pb_test_` or `pb_mgmt_` and has 44 or 55 characters.",
  ],
  [
    "a key with a typo",
    authorize((key) => `Bearer ${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`),
    "401 api_key_invalid",
    "The checksum of the API key does not match, so at least one character is wrong. You were not charged. Send the whole key, which starts with `pb_live_`, `pb_test_` or `pb_mgmt_` and has 44 or 55 characters.",
  ],
  [
    "a key of another service",
    authorize(() => "Bearer sk-proj-1234567890"),
    "401 api_key_invalid",
    "This is not an API key of this service. You were not charged. Send the whole key, which starts with `pb_live_`, `pb_test_` or `pb_mgmt_` and has 44 or 55 characters.",
  ],
  [
    "Bearer in x-api-key",
    ({ server, testKey }) => server.manage(`Bearer ${testKey}`, "POST", "/v1/search", { query: "cats" }),
    "401 api_key_invalid",
    "The `x-api-key` header must contain the key alone, without `Bearer`. You were not charged. Send the whole key, which starts with `pb_live_`, `pb_test_` or `pb_mgmt_` and has 44 or 55 characters.",
  ],
  [
    "two different keys",
    ({ server, testKey, live }) => server.search(testKey, { query: "cats" }, { "x-api-key": live }),
    "400 conflicting_credentials",
    "The request has two different API keys, so the wallet to charge is ambiguous. You were not charged. Send one key.",
    [["#", "conflicting_credentials", "send one key"]],
  ],
  [
    "the key in the URL",
    post(json, "/v1/search?api_key=pb_test_123"),
    "401 authentication_required",
    "The request has no API key. You were not charged. Send the key as `Authorization: Bearer <API_KEY>` or `x-api-key: <API_KEY>`, not in the URL or the body.",
  ],
  [
    "the key in the body",
    search({ query: "cats", api_key: "pb_test_123" }),
    "400 invalid_request",
    "`api_key` is not a known field; send the API key as `Authorization: Bearer <API_KEY>`.",
    [["#/api_key", "unknown_field", "is not a known field; send the API key as `Authorization: Bearer <API_KEY>`"]],
  ],
  [
    "a management key for a search",
    ({ server, management }) => server.search(management, { query: "cats" }),
    "403 insufficient_scope",
    "This key does not have the `search` scope. You were not charged. To search, use a key that starts with `pb_live_` or `pb_test_`.",
  ],
  [
    "a search key for the wallet",
    ({ server, testKey }) => server.manage(testKey, "GET", "/v1/wallet"),
    "403 insufficient_scope",
    "This key does not have the `wallet:read` scope. Search keys only search, so use a management key, which starts with `pb_mgmt_`.",
  ],
  [
    "a management key without the scope",
    ({ server, reader }) => server.manage(reader, "GET", "/v1/keys"),
    "403 insufficient_scope",
    "This key does not have the `keys:read` scope. Use a management key that has it, or create one with `POST /v1/keys`.",
  ],
];
