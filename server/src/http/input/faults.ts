import { suggest } from "../../lib/suggest.ts";
import { Problem } from "../../problems/problems.ts";

// Every invalid body, query parameter and header becomes an invalid_request here. A fault names its field, the value received
// and the value expected. It quotes only a short word, never text that could be a sentence or a secret.

export interface Fault {
  /** A JSON Pointer such as #/name, or # for the body or a header. */
  pointer: string;
  code: string;
  /** A predicate such as "must be an integer". That of a header starts with its name. */
  detail: string;
}

/** Enough for every field of every body. */
export const maxFaults = 20;
/** The other faults are only in `errors`. */
const maxInDetail = 3;

export function invalidInput(faults: readonly Fault[]): Problem {
  const errors = faults.slice(0, maxFaults);
  const shown = errors.slice(0, maxInDetail).map((fault) => `${subjectOf(fault)}${fault.detail}`);
  const hidden = errors.length - shown.length;
  const sentence = [...shown, ...(hidden > 0 ? [`\`errors\` lists ${hidden} more`] : [])].join("; ");
  return new Problem("invalid_request", {
    detail: `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}. You were not charged. Correct the request and send it again.`,
    members: { errors },
  });
}

/** `path` is below the body, such as `budget/day`. */
export function fieldFault(path: string, detail: string, code = "invalid"): Fault {
  return { pointer: `#/${path}`, code, detail };
}

export function parameterFault(name: string, detail: string): Fault {
  return { pointer: toPointer("", name), code: "invalid_parameter", detail };
}

/** Appends a name to the JSON Pointer of its object. Cut off, because a name can be as long as the body. */
export function toPointer(path: string, name: string | number): string {
  const escaped = String(name).replaceAll("~", "~0").replaceAll("/", "~1");
  return `#${path}/${escaped}`.slice(0, maxPointer);
}

const maxPointer = 101;

export function invalidParameter(name: string, detail: string): Problem {
  return invalidInput([parameterFault(name, detail)]);
}

export function headerFault(name: string, rule: string): Fault {
  return { pointer: "#", code: "invalid_header", detail: `\`${name}\` ${rule}` };
}

export function invalidHeader(name: string, rule: string): Problem {
  return invalidInput([headerFault(name, rule)]);
}

function subjectOf({ pointer, code }: Fault): string {
  if (code === "invalid_header") return "";
  if (pointer === "#") return "the body ";
  const names = pointer.slice(2).split("/");
  const [first = "", ...rest] = names.map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  const name = first + rest.map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`)).join("");
  return code === "invalid_parameter" ? `the query parameter \`${name}\` ` : `\`${name}\` `;
}

/** A list for a sentence: "`a`, `b` or `c`". */
export function listWords(words: readonly string[], conjunction = "or"): string {
  const quoted = words.map((word) => `\`${word}\``);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} ${conjunction} ${last}`;
}

export function oneOfWords(choices: readonly string[]): string {
  return `${choices.length > 2 ? "one of " : ""}${listWords(choices)}`;
}

export function didYouMean(word: string): string {
  return `(did you mean \`${word}\`?)`;
}

/** States the choices, and the one that was probably meant. */
export function describeChoices(choices: readonly string[], received: string): string {
  const meant = suggest(received, choices);
  const hint = meant === undefined ? `, but ${describeText(received)}` : ` ${didYouMean(meant)}`;
  return `must be ${oneOfWords(choices)}${hint}`;
}

/** For an unknown name: the one that was probably meant, or all of them. `kind` is "field" or "parameter". */
export function describeUnknown(name: string, known: readonly string[], kind: string): string {
  const meant = suggest(name, known);
  if (meant !== undefined) return `is not a known ${kind} ${didYouMean(meant)}`;
  const isShort = known.length > 0 && known.length <= 8;
  return `is not a known ${kind}${isShort ? `; the ${kind}s are ${listWords(known, "and")}` : ""}`;
}

/** Describes received text, for "must be ..., but is ...". */
export function describeText(text: string): string {
  if (text === "") return "is empty";
  if (/^[+-]?\d{1,12}(?:\.\d{1,12})?$/.test(text)) return `is ${text}`;
  return isQuotable(text) ? `is \`${text}\`` : `has ${countCharacters(text)}`;
}

const word = /^[\x21-\x5f\x61-\x7e]{1,32}$/;
const secret = /^pb_|(?=[a-z]*\d)[a-z\d]{13}/i;

/** A word, a code or an amount: short, without spaces and without a long run of letters and digits, as secrets have. */
export function isQuotable(text: string): boolean {
  return word.test(text) && !secret.test(text);
}

export function countCharacters(text: string): string {
  const count = [...text].length;
  return `${count.toLocaleString("en-US")} character${count === 1 ? "" : "s"}`;
}
