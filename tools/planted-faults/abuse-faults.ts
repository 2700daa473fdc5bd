import type { PlantedFault } from "./planted-fault.ts";

const mail = "console/mail.test";
const lockOut = "a person can sign in while 20 networks request links and send invitations for variants of the address";
const httpServer = "src/http/http-server.test";
const slowBody = "a request of an unknown caller occupies no slot while its body is received, and needs one afterwards";
const keysSql = "server/sql/keys.sql";
const keys = "stories/key-restrictions.test";

export const abuseFaults: PlantedFault[] = [
  {
    id: "variants-lock-person-out",
    description: "requests for variants of an address use up the links of its owner",
    file: "server/sql/console.sql",
    find: "when is_mailbox_full and not exists (select from pb.people p where p.email = p_email) then",
    replace: "when is_mailbox_full then",
    tests: [mail],
    caughtBy: lockOut,
  },
  {
    id: "variants-fill-mailbox",
    description: "every variant of an address gets its own links",
    file: "server/src/console/sign-in-limits.ts",
    find: "return isExceeded(countMailboxLink(mailbox));",
    replace: "return isExceeded(countMailboxLink(digest(email)));",
    tests: [mail],
    caughtBy: lockOut,
  },
  {
    id: "half-sent-body-keeps-slot",
    description: "a request without a key keeps its slot while its body is received",
    file: "server/src/limits/occupied-slots.ts",
    find: "if (!enter || request.complete) return receive();",
    replace: "if (enter || request.complete) return receive();",
    tests: [httpServer],
    caughtBy: slowBody,
  },
  {
    id: "received-body-needs-no-slot",
    description: "a request without a key is not bounded after its body was received",
    file: "server/src/limits/occupied-slots.ts",
    find: "  occupied.set(request, { leave: enter(), enter });\n",
    replace: "",
    tests: [httpServer],
    caughtBy: slowBody,
  },
  {
    id: "key-without-restrictions-created",
    description: "a management key creates one that works from more networks",
    file: keysSql,
    find: "elsif wider is not null then",
    replace: "elsif wider = 'expires_at' then",
    tests: [keys],
    caughtBy: "a key with restrictions creates management keys with the same or narrower ones, by default the same",
  },
  {
    id: "key-extends-itself",
    description: "a management key changes its own expiry to a later time",
    file: keysSql,
    find: "  if wider is not null then",
    replace: "  if wider = 'allowed_ips' then",
    tests: [keys],
    caughtBy: "a key with restrictions removes them from no management key, not even from itself",
  },
  {
    id: "unrestricted-key-rotated",
    description: "a management key with restrictions gets the secret of a key without them by rotating it",
    file: keysSql,
    find: "k.allowed_ips, k.expires_at)\n    is not null",
    replace: "k.allowed_ips, k.expires_at)\n    = 'allowed_ips'",
    tests: [keys],
    caughtBy: "a key with restrictions rotates itself, and no management key that has fewer",
  },
  {
    id: "link-in-account-name",
    description: "the name of an account puts a link into invitations",
    file: "server/src/http/input/text-patterns.ts",
    find: "[^\\\\s/]\\\\.[^\\\\s/.]{2,}/",
    replace: "\\\\n",
    tests: ["console/accounts.test"],
    caughtBy: "names of accounts and people contain no web address and no control character",
  },
  {
    id: "key-prefix-exempts-from-limit",
    description: "HAProxy exempts every request with the start of a key from the limit of requests without a key",
    file: "server/src/cells/edge-config.ts",
    find: "acl has_key var(txn.key) -m reg ^${keyPattern.source}$",
    replace: "acl has_key var(txn.key) -m beg pb_",
    tests: ["cells/edge.test"],
    caughtBy: "only a complete key exempts a request from the limit of requests without a key",
  },
  {
    id: "half-sent-webhooks-keep-slots",
    description: "half-sent bodies with a plausible signature keep payment webhooks out",
    file: "server/src/payments/webhook-route.ts",
    find: "const leave = isSmall ? () => undefined : dependencies.enterWebhook(request.ip);",
    replace: "const leave = dependencies.enterWebhook(request.ip);",
    tests: ["stories/fair-shares.test"],
    caughtBy: "half-sent webhooks of up to 16 KiB occupy no slot",
  },
];
