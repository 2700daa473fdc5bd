import { dropTemplates } from "./database.ts";

// `node server/test/support/services/drop-templates.ts PREFIX` removes the templates of runs with PENNYBLACK_TEST_TEMPLATE_PREFIX.

const [prefix] = process.argv.slice(2);
if (prefix) await dropTemplates(prefix);
