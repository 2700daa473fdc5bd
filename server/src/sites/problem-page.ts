import { exampleOf } from "../api-docs/openapi.ts";
import { escapeHtml, plainPage } from "../http/plain-page.ts";
import { type ProblemCode, problemRow } from "../problems/problems.ts";

/** The page behind the `type` URL of a problem on a server without the docs. */
export function problemPage(code: ProblemCode): string {
  const { status, title, retryable, page } = problemRow(code);
  return plainPage(
    title,
    `<h1>${escapeHtml(title)}</h1>
<p class="code">${status} ${code}</p>
<p>${escapeHtml(page).replaceAll(/`([^`]+)`/g, "<code>$1</code>")}</p>
<dl><dt>Charged</dt><dd>No. Errors are never charged.</dd>
<dt>Retry</dt><dd>${retryable ? "Yes. The same request can succeed later." : "No. The same request will fail again."}</dd></dl>
<pre>${escapeHtml(JSON.stringify(exampleOf(code), null, 2))}</pre>`,
  );
}
