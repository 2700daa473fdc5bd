// Language rules from STYLE.md. Each rule is a pattern that a reviewer would otherwise have to point out again and again;
// check-language.test.ts plants one fault for each.

type Files = ReadonlyMap<string, string>;

interface Rule {
  pattern: RegExp;
  instead: string;
}

/** Patterns that read as translated or personify software. */
const rules: Rule[] = [
  { pattern: /\bnobody\b|\bno one\b/i, instead: "name who: no client, no role, no other process" },
  { pattern: /\bwhoever\b/i, instead: "use a noun: a caller that, the process that" },
  { pattern: /\b(?:is|are|was|were|be|been|being) told\b|\btells?\b|\btold\b/i, instead: "returns, reports, notifies" },
  {
    pattern: /\b(?:it|which|that|file|row|header|page|server|response|log|test) says\b/i,
    instead: "states, returns, shows",
  },
  { pattern: /\bstands?\b(?!-)(?! (?:for|alone|out)\b)/i, instead: "is" },
  {
    pattern: /(?:^|[.:;] )What (?:\w+ ){1,6}?(?:is|are|was|were|has|have|does|do|may|must|cannot)\b(?!.*\?)/,
    instead: "use a noun as the subject",
  },
  { pattern: /, also (?:if|when|while|after|without)\b/i, instead: "even if, even after, including" },
  { pattern: /\bfor as long\b/i, instead: "while, until, as long as" },
  { pattern: /\b(?:your|own) id of (?:a|an|the|your)\b/i, instead: "your ID for the end user" },
  { pattern: /\bis one too (?:many|much)\b/i, instead: "remove the ..." },
  {
    pattern: /\bof (?:its|their|your|his|her) own(?=[,.;:)]|$| (?:and|as|for|in|is|on|so|that|to|until|which|with)\b)/,
    instead: "its own ..., a separate ...",
  },
  { pattern: /\banew\b|\bonce more\b|\ball the same\b|\bsuch an? one\b/i, instead: "again, nevertheless, it" },
];

interface Exception {
  /** Where the text may appear: a path prefix. */
  path: string;
  text: RegExp;
  reason: string;
}

const exceptions: Exception[] = [
  { path: "ai-sdk/src/", text: /\btell the user\b/i, reason: "an instruction to a language model" },
  { path: "server/src/mcp/", text: /\btell the user\b/i, reason: "an instruction to a language model" },
  { path: "server/test/stories/mcp.test.ts", text: /\btell the user\b/i, reason: "an instruction to a language model" },
  { path: "STYLE.md", text: /"nobody"|It does not tell|utils\.ts/, reason: "examples of what not to write" },
  { path: "server/src/dev/postgres-programs.ts", text: /"nobody"/, reason: "the Unix account" },
  { path: "server/src/ranking/near-copies.test.ts", text: /\b(?:nobody|no one)\b/i, reason: "news texts used as data" },
  { path: "server/src/providers/call-provider.test.ts", text: /nobody\.invalid/, reason: "a host name" },
  { path: "CONTRIBUTING.md", text: /NNNN_description|<name>/, reason: "placeholders" },
  { path: "", text: /alertmanager\/alertmanager\.yml/, reason: "deploy/make-env.sh writes it" },
  { path: "docs/integrations/", text: /\b(?:librechat|config)\.yaml\b/, reason: "files of other products" },
  { path: "docs/decisions/0001", text: /NNNN-decision/, reason: "a placeholder" },
  { path: "server/migrations/0001", text: /a key of its own/, reason: "a released migration is never edited" },
  { path: "tools/check-language", text: /.*/, reason: "the rules themselves and their tests" },
];

const prose =
  /\.(?:md|ts|tsx|cjs|mjs|js|sql|sh|ya?ml|py|lua|css|html|txt|tpl|lens)$|^(?:Dockerfile|\.ci\/run|deploy\/backup\/|deploy\/pgbackrest\/)/;
const notOurs = /(?:^|\/)(?:fixtures|authority)\/|package-lock\.json$|\.(?:json|png|svg)$/;

export function findLanguageViolations(files: Files): string[] {
  return [...bannedPatterns(files), ...missingFiles(files)];
}

function bannedPatterns(files: Files): string[] {
  return [...files].flatMap(([path, text]) =>
    !prose.test(path) || notOurs.test(path)
      ? []
      : text.split("\n").flatMap((line, index) => {
          const sentence = line.replace(/^\s*(?:\/\/|--|\*|#|\/\*\*|<!--|-|\d+\.|>)+\s*/, "");
          return rules.flatMap(({ pattern, instead }) => {
            const found = pattern.exec(sentence)?.[0];
            return found === undefined || isExcepted(path, line)
              ? []
              : [`${path}:${index + 1}: "${found.trim()}": ${instead}`];
          });
        }),
  );
}

function isExcepted(path: string, line: string): boolean {
  return exceptions.some((exception) => path.startsWith(exception.path) && exception.text.test(line));
}

const reference = /(?<![\w./@$*{<-])((?:[\w.-]+\/)*[\w.-]+\.(?:tsx?|sql|md|sh|ya?ml|py|cjs|lens))(?![\w*])/g;

/** Files that comments and documents mention, and that do not exist. A path may be relative to any folder. */
function missingFiles(files: Files): string[] {
  const suffixes = new Set(
    [...files.keys()].flatMap((path) => path.split("/").map((_, index, all) => all.slice(index).join("/"))),
  );
  return [...files].flatMap(([path, text]) => {
    if (!prose.test(path) || notOurs.test(path) || /\.test\.tsx?$/.test(path)) return [];
    return text.split("\n").flatMap((line, index) => {
      const isComment = path.endsWith(".md") || /^\s*(?:\/\/|--|\*|#|\/\*\*)/.test(line);
      if (!isComment) return [];
      // check-links.ts checks the targets of links.
      return [...line.replaceAll(/\]\([^)]*\)/g, "").matchAll(reference)]
        .map(([, name = ""]) => name.replace(/^(?:\.\.?\/)+/, ""))
        .filter((name) => !suffixes.has(name) && !isExcepted(path, line))
        .map((name) => `${path}:${index + 1}: there is no file ${name}`);
    });
  });
}
