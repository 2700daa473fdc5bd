import { createHash } from "node:crypto";
import { type ProblemCode, problemRow } from "../problems/problems.ts";
import { exampleOf } from "./openapi.ts";

const style = `
:root { color-scheme: light dark; --ink: #14171a; --paper: #faf8f4; --accent: #1f5aa6; --line: #d9d4c8 }
@media (prefers-color-scheme: dark) { :root { --ink: #e9e6df; --paper: #101214; --accent: #7fb0f0; --line: #33373b } }
body { margin: 0 auto; padding: 48px 24px; max-width: 640px; background: var(--paper); color: var(--ink);
  font: 16px/1.6 system-ui, sans-serif; font-variant-numeric: tabular-nums }
h1 { font-size: 28px; line-height: 1.25; margin: 0 0 8px }
p.code { margin: 0 0 24px; font-family: ui-monospace, monospace; color: var(--accent) }
code { font: 0.9em ui-monospace, monospace }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 16px 0; border: solid var(--line); border-width: 1px 0; font-size: 13px }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 24px; margin: 24px 0 } dd { margin: 0 }`;

export const problemPagePolicy = `default-src 'none'; frame-ancestors 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`;

/** The page behind the `type` URL of a problem. */
export function problemPage(code: ProblemCode): string {
  const { status, title, retryable, page } = problemRow(code);
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escape(title)}</title><style>${style}</style></head>
<body>
<h1>${escape(title)}</h1>
<p class="code">${status} ${code}</p>
<p>${escape(page).replaceAll(/`([^`]+)`/g, "<code>$1</code>")}</p>
<dl><dt>Charged</dt><dd>No. Errors are never charged.</dd>
<dt>Retry</dt><dd>${retryable ? "Yes. The same request can succeed later." : "No. The same request will fail again."}</dd></dl>
<pre>${escape(JSON.stringify(exampleOf(code), null, 2))}</pre>
</body>
</html>
`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
