import { exampleOf } from "../api-docs/openapi.ts";
import { escapeHtml, plainPage } from "../http/plain-page.ts";
import { type ProblemCode, problemRow } from "../problems/problems.ts";

/** The page behind the `type` URL of a problem on a server without the docs. */
export function problemPage(code: ProblemCode): string {
  const { status, title, retryable, cause, fix } = problemRow(code);
  return plainPage(
    title,
    `<h1>${escapeHtml(title)}</h1>
<p class="code">${status} ${code}</p>
<p>You were not charged. ${retryable ? "The same request can succeed later." : "A retry fails until the cause is removed."}</p>
<dl><dt>Cause</dt><dd>${renderCode(cause)}</dd>
<dt>Fix</dt><dd>${renderCode(fix)}</dd></dl>
<pre>${escapeHtml(JSON.stringify(exampleOf(code), null, 2))}</pre>`,
  );
}

function renderCode(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");
}
