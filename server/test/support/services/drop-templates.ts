import { dropTemplates } from "./database.ts";

// `node server/test/support/services/drop-templates.ts PREFIX`: for whoever ran tests with PENNYBLACK_TEST_TEMPLATE_PREFIX and is done.

const [prefix] = process.argv.slice(2);
if (prefix) await dropTemplates(prefix);
