import { type Mistake, search } from "./mistake.ts";

// The body is not JSON, or not the JSON of one search.

export const jsonMistakes: Mistake[] = [
  [
    "an empty body",
    search(""),
    "400 malformed_json",
    "The request body is empty. You were not charged. Send a JSON object.",
  ],
  [
    "curl -d without a content type",
    search("query=cats", { "content-type": "application/x-www-form-urlencoded" }),
    "415 unsupported_media_type",
    "The content type is `application/x-www-form-urlencoded`, the default of `curl -d`. You were not charged. Send uncompressed UTF-8 JSON with `Content-Type: application/json`.",
  ],
  [
    "a compressed body",
    search({ query: "cats" }, { "content-encoding": "gzip" }),
    "415 unsupported_media_type",
    "The request body is compressed (`Content-Encoding`). You were not charged. Send uncompressed UTF-8 JSON with `Content-Type: application/json`.",
  ],
  [
    "form data as JSON",
    search("query=cats"),
    "400 malformed_json",
    "The request body is not valid JSON at line 1, column 1: expected a JSON object, which starts with `{`. You were not charged. Send a single JSON object.",
  ],
  [
    "single quotes",
    search("{'query': 'cats'}"),
    "400 malformed_json",
    "The request body is not valid JSON at line 1, column 2: strings and field names need double quotes. You were not charged. Send a single JSON object.",
  ],
  [
    "typographic quotes",
    search("{“query”: “cats”}"),
    "400 malformed_json",
    'The request body is not valid JSON at line 1, column 2: this is a typographic quote; use straight double quotes ("). You were not charged. Send a single JSON object.',
  ],
  [
    "field names without quotes",
    search('{query: "cats"}'),
    "400 malformed_json",
    "The request body is not valid JSON at line 1, column 2: expected a field name in double quotes. You were not charged. Send a single JSON object.",
  ],
  [
    "a value without quotes",
    search('{"query": cats}'),
    "400 malformed_json",
    "The request body is not valid JSON at line 1, column 11: expected a value; strings need double quotes. You were not charged. Send a single JSON object.",
  ],
  [
    "a trailing comma",
    search('{"query":"cats",}'),
    "400 malformed_json",
    "The request body is not valid JSON at line 1, column 17: remove the comma before `}`. You were not charged. Send a single JSON object.",
  ],
  [
    "a missing comma",
    search('{\n  "query": "cats"\n  "n": 5\n}'),
    "400 malformed_json",
    "The request body is not valid JSON at line 3, column 3: missing comma before this string. You were not charged. Send a single JSON object.",
  ],
  [
    "a missing bracket",
    search('{\n  "query": "cats",\n  "n": 5\n'),
    "400 malformed_json",
    "The request body is not valid JSON at line 4, column 1: the body ends before the `{` at line 1, column 1 is closed. You were not charged. Send a single JSON object.",
  ],
  [
    "a string that is not closed",
    search('{"query": "cats}'),
    "400 malformed_json",
    "The request body is not valid JSON at line 1, column 17: the body ends inside the string that starts at line 1, column 11. You were not charged. Send a single JSON object.",
  ],
  [
    "a line break in a string",
    search('{"query": "cats\nand dogs"}'),
    "400 malformed_json",
    "The request body is not valid JSON at line 1, column 16: a string must not contain a line break; write it as `\\n`, or close the string. You were not charged. Send a single JSON object.",
  ],
  [
    "Python literals",
    search('{"query": "cats", "category": None}'),
    "400 malformed_json",
    "The request body is not valid JSON at line 1, column 31: `None` is not JSON; write `null`. You were not charged. Send a single JSON object.",
  ],
  [
    "a comment",
    search('{"query": "cats"} // find cats'),
    "400 malformed_json",
    "The request body is not valid JSON at line 1, column 19: unexpected text after the end of the JSON value. You were not charged. Send a single JSON object.",
  ],
  [
    "two objects",
    search('{"query":"cats"}{"query":"dogs"}'),
    "400 malformed_json",
    "The request body is not valid JSON at line 1, column 17: unexpected text after the end of the JSON value. You were not charged. Send a single JSON object.",
  ],
  [
    "a backslash",
    search('{"query": "C:\\Users"}'),
    "400 malformed_json",
    "The request body is not valid JSON at line 1, column 14: the backslash does not start a valid escape; write `\\\\` for a backslash. You were not charged. Send a single JSON object.",
  ],
  [
    "Latin-1",
    search(Buffer.from('{"query":"caf\u00e9"}', "latin1")),
    "400 malformed_json",
    "The request body is not valid UTF-8 at byte 14. You were not charged. Encode it as UTF-8.",
  ],
  [
    "a list of searches",
    search([{ query: "cats" }]),
    "400 invalid_request",
    "The body must be a JSON object, but is an array.",
    [["#", "wrong_type", "must be a JSON object, but is an array"]],
  ],
  [
    "a JSON string",
    search('"cats"'),
    "400 invalid_request",
    "The body must be a JSON object, but is a string.",
    [["#", "wrong_type", "must be a JSON object, but is a string"]],
  ],
];
