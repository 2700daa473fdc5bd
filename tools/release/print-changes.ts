// npm run release:changes: prints the section of CHANGELOG.md for the current version, for the page of the release.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { releaseVersion, root } from "./products.ts";

const sections = readFileSync(join(root, "CHANGELOG.md"), "utf8").split(/^(?=## \[)/m);
const section = sections.find((text) => text.startsWith(`## [${releaseVersion()}]`));
if (section === undefined) throw new Error(`CHANGELOG.md has no section for ${releaseVersion()}`);
console.log(section.replaceAll(/^<!--.*-->\n/gm, "").trim());
