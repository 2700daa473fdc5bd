import { describeText } from "../http/input/faults.ts";
import { InvalidValue } from "../http/input/query-parameters.ts";
import { isEndUser } from "../lib/end-user-id.ts";

/** The query parameter `for`. */
export function readEndUserParameter(text: string | undefined): string | undefined {
  if (text === undefined || isEndUser(text)) return text;
  const rule = "must be an id of 1 to 64 letters, digits or any of `_.:@/+=|-`, or an `end_user` of a response";
  throw new InvalidValue(`${rule}, but ${describeText(text)}`);
}
