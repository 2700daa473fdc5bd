import { Type } from "typebox";
import { type Fault, fieldFault } from "./faults.ts";
import { textPatterns } from "./text-patterns.ts";

/** Also the name of a file, so that `pennyblack apply` can write a secret to it. */
const text = Type.String({ pattern: textPatterns.externalId });

/** `scope` names the objects among which the id is unique. */
export const externalId = (scope: string) =>
  Type.Union([text, Type.Null()], {
    description: `Your own id, unique among the ${scope}, by which \`pennyblack apply\` finds the object. Null for none.`,
  });

/** `others` as in "another key of this mode". */
export function externalIdFault(others: string): Fault {
  return fieldFault("external_id", `is the external id of ${others}`, "taken");
}
