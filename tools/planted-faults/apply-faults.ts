import type { PlantedFault } from "./planted-fault.ts";

const tests = ["cli/src/apply/apply.test"];

export const applyFaults: readonly PlantedFault[] = [
  {
    id: "apply-lost-secret-ignored",
    description: "a secret that was lost with a response is not replaced",
    file: "cli/src/apply/secret-files.ts",
    find: 'if (stateOf(name) === "absent") createPrivateFile(pathOf(name), "");',
    replace: "",
    tests,
    caughtBy: "a secret that was lost twice is replaced by the third run",
  },
  {
    id: "apply-empty-file-after-refusal",
    description:
      "a refused creation leaves an empty file, so that an object someone else creates later gets another secret",
    file: "cli/src/apply/apply-command.ts",
    find: "if (wasRefused(error)) removeReserved(changes.slice(index), secrets);",
    replace: "if (wasRefused(error)) removeReserved([], secrets);",
    tests,
    caughtBy: "a refused creation leaves no file behind",
  },
  {
    id: "apply-secret-file-overwritten",
    description: "a file with a secret is overwritten",
    file: "cli/src/apply/apply-command.ts",
    find: 'secrets.stateOf(name) === "written"',
    replace: "false",
    tests,
    caughtBy: "without a folder for secrets, or with a file in the way, nothing is created",
  },
  {
    id: "apply-secret-printed",
    description: "a new secret is printed",
    file: "cli/src/apply/apply-command.ts",
    find: "`, secret in ${path}`",
    replace: "`, secret ${secret}`",
    tests,
    caughtBy: "no secret is printed, nor the path of a webhook, with and without --json",
  },
  {
    id: "apply-url-printed",
    description: "the path of a webhook's URL is printed",
    file: "cli/src/apply/plan-webhooks.ts",
    find: "differences: differences.map(hidePath)",
    replace: "differences",
    tests,
    caughtBy: "no secret is printed, nor the path of a webhook, with and without --json",
  },
  {
    id: "apply-omitted-limit-kept",
    description: "a limit that is not in the file stays",
    file: "cli/src/apply/plan-keys.ts",
    find: "return { ...restrictions, ...limits, ...rates, compat: null, ...fields };",
    replace: "return fields;",
    tests,
    caughtBy: "what someone else has changed is a difference, and apply restores it",
  },
  {
    id: "external-id-of-two-keys",
    description: "two keys have the same external id",
    file: "server/sql/keys.sql",
    find: "elsif pb.is_key_id_taken(new_mode, k.external_id) then",
    replace: "elsif false then",
    tests: ["stories/external-ids.test"],
    caughtBy: "an external id belongs to one object of a wallet and mode, until it is removed",
  },
  {
    id: "external-id-of-another-wallet",
    description: "the external id of a key of another wallet is taken",
    file: "server/sql/keys.sql",
    find: "where k.wallet_id = pb.own_wallet() and k.mode = p_mode and k.external_id",
    replace: "where k.mode = p_mode and k.external_id",
    tests: ["stories/external-ids.test"],
    caughtBy: "an external id belongs to one object of a wallet and mode, until it is removed",
  },
];
