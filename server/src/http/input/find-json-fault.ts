// Finds what is wrong with a text that JSON.parse rejects, and where. JSON.parse does not report a position for every fault,
// and its messages quote the text. One pass without recursion: the body may be nested thousands of levels deep.

export interface JsonFault {
  line: number;
  column: number;
  detail: string;
}

/** Returns undefined if the text is valid JSON. */
export function findJsonFault(text: string): JsonFault | undefined {
  const fault = scan(text);
  return fault && { ...locate(text, fault.at), detail: fault.detail };
}

interface Found {
  at: number;
  detail: string;
}

type Expected = "value" | "first value" | "name" | "first name" | "colon" | "comma";

interface Scan {
  text: string;
  /** The offsets of the brackets that are open. */
  open: number[];
  expected: Expected;
  at: number;
}

function scan(text: string): Found | undefined {
  const state: Scan = { text, open: [], expected: "value", at: 0 };
  for (;;) {
    state.at = skip(/[\t\n\r ]*/y, text, state.at);
    if (state.at === text.length) {
      return state.expected === "comma" && state.open.length === 0 ? undefined : describeEnd(state);
    }
    const fault = step(state);
    if (fault) return fault;
  }
}

/** Reads one token and returns what is wrong with it, if anything. */
function step(state: Scan): Found | undefined {
  switch (state.expected) {
    case "value":
      return readValue(state);
    case "first value":
      return state.text[state.at] === "]" ? close(state) : readValue(state);
    case "name":
    case "first name":
      return readName(state);
    case "colon":
      if (state.text[state.at] !== ":") return { at: state.at, detail: "missing colon after the field name" };
      return advance(state, 1, "value");
    case "comma":
      return readSeparator(state);
  }
}

function readValue(state: Scan): Found | undefined {
  const { text, at, open } = state;
  const character = text[at] ?? "";
  if (character === '"') return readString(state, "comma");
  if (character === "{" || character === "[") {
    open.push(at);
    return advance(state, 1, character === "{" ? "first name" : "first value");
  }
  const end = skip(/(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)?/y, text, at);
  if (end > at) return advance(state, end - at, "comma");
  return { at, detail: describeBadValue(state, character) };
}

function readName(state: Scan): Found | undefined {
  const { text, at, expected } = state;
  const character = text[at] ?? "";
  if (character === '"') return readString(state, "colon");
  if (character === "}" && expected === "first name") return close(state);
  if (character === "}") return { at, detail: "remove the comma before `}`" };
  const detail = describeQuote(character) ?? describeComment(text, at);
  return { at, detail: detail ?? "expected a field name in double quotes" };
}

function readSeparator(state: Scan): Found | undefined {
  const { text, at, open } = state;
  const character = text[at] ?? "";
  const opening = text[open.at(-1) ?? -1];
  if (opening === undefined) return { at, detail: "unexpected text after the end of the JSON value" };
  const closing = opening === "{" ? "}" : "]";
  if (character === closing) return close(state);
  if (character === ",") return advance(state, 1, opening === "{" ? "name" : "value");
  if (/\d/.test(character) && text[at - 1] === "0") return { at, detail: "a number must not start with 0" };
  if (character === '"') return { at, detail: "missing comma before this string" };
  return { at, detail: describeComment(text, at) ?? `expected a comma or \`${closing}\`` };
}

function close(state: Scan): undefined {
  state.open.pop();
  return advance(state, 1, "comma");
}

function advance(state: Scan, length: number, expected: Expected): undefined {
  state.at += length;
  state.expected = expected;
}

function readString(state: Scan, expected: Expected): Found | undefined {
  const { text } = state;
  let at = state.at + 1;
  for (;;) {
    while (isPlain(text.charCodeAt(at))) at += 1;
    const character = text[at];
    if (character === '"') return advance(state, at + 1 - state.at, expected);
    if (character === undefined) {
      return { at, detail: `the body ends inside the string that starts at ${describePosition(text, state.at)}` };
    }
    if (character === "\n" || character === "\r") {
      return { at, detail: "a string must not contain a line break; write it as `\\n`, or close the string" };
    }
    if (character !== "\\") return { at, detail: "a string must not contain a control character; escape it" };
    const end = skip(/(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))?/y, text, at);
    if (end === at) return { at, detail: "the backslash does not start a valid escape; write `\\\\` for a backslash" };
    at = end;
  }
}

/** Whether a character of a string ends nothing. False at the end of the text, where its code is NaN. */
function isPlain(code: number): boolean {
  return code >= 0x20 && code !== 0x22 && code !== 0x5c;
}

const words: Record<string, string> = {
  True: "true",
  TRUE: "true",
  False: "false",
  FALSE: "false",
  None: "null",
  NULL: "null",
  Null: "null",
  nil: "null",
  undefined: "null",
  NaN: "null",
};

function describeBadValue({ text, at, expected, open }: Scan, character: string): string {
  if (character === "]" && text[open.at(-1) ?? -1] === "[") return "remove the comma before `]`";
  if (character === "," || character === "}" || character === "]") return `missing value before \`${character}\``;
  const quote = describeQuote(character) ?? describeComment(text, at);
  if (quote !== undefined) return quote;
  const word = text.slice(at, skip(/[A-Za-z]{0,20}/y, text, at));
  const replacement = Object.hasOwn(words, word) ? words[word] : undefined;
  if (replacement !== undefined) return `\`${word}\` is not JSON; write \`${replacement}\``;
  if (/[-+.\d]/.test(character)) return "the number is not valid in JSON";
  if (expected === "value" && open.length === 0) return "expected a JSON object, which starts with `{`";
  return "expected a value; strings need double quotes";
}

function describeQuote(character: string): string | undefined {
  if (character === "'" || character === "`") return "strings and field names need double quotes";
  return /[“”„‘’«»]/.test(character) ? 'this is a typographic quote; use straight double quotes (")' : undefined;
}

function describeComment(text: string, at: number): string | undefined {
  return /^(?:\/[/*]|#)/.test(text.slice(at, at + 2)) ? "JSON does not allow comments" : undefined;
}

function describeEnd({ text, open, at }: Scan): Found {
  const last = open.at(-1);
  if (last === undefined) return { at, detail: "the body is empty" };
  return { at, detail: `the body ends before the \`${text[last]}\` at ${describePosition(text, last)} is closed` };
}

/** The offset after the match of a sticky pattern that can be empty. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}

function describePosition(text: string, at: number): string {
  const { line, column } = locate(text, at);
  return `line ${line}, column ${column}`;
}

function locate(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at).split(/\r\n|\r|\n/);
  return { line: before.length, column: [...(before.at(-1) ?? "")].length + 1 };
}
