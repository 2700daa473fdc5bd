import { createHash } from "node:crypto";

const style = `
:root { color-scheme: light dark; --ink: #14171a; --paper: #faf8f4; --accent: #1f5aa6; --line: #d9d4c8 }
@media (prefers-color-scheme: dark) { :root { --ink: #e9e6df; --paper: #101214; --accent: #7fb0f0; --line: #33373b } }
body { margin: 0 auto; padding: 48px 24px; max-width: 640px; background: var(--paper); color: var(--ink);
  font: 16px/1.6 system-ui, sans-serif; font-variant-numeric: tabular-nums }
h1 { font-size: 28px; line-height: 1.25; margin: 0 0 8px }
a { color: var(--accent); text-underline-offset: 4px }
p.code { margin: 0 0 24px; font-family: ui-monospace, monospace; color: var(--accent) }
code { font: 0.9em ui-monospace, monospace }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 16px 0; border: solid var(--line); border-width: 1px 0;
  font-size: 13px }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 24px; margin: 24px 0 } dd { margin: 0 }
header { display: flex; align-items: center; gap: 12px; margin-bottom: 40px; font-weight: 600 } header p { margin: 0 }
svg rect:first-child { fill: var(--ink) } svg rect { fill: none; stroke: var(--paper); stroke-width: 1.2 }
svg text { fill: var(--paper); font: 700 12px Georgia, serif }
.lead { font-size: 18px } ul { padding-left: 20px } footer { margin-top: 40px; padding-top: 16px; border-top: 1px solid var(--line) }
@media (max-width: 480px) { dl { grid-template-columns: 1fr } dd { margin-bottom: 8px } }`;

/** Allows nothing except the style of these pages. */
export const plainPagePolicy = `default-src 'none'; frame-ancestors 'none'; style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`;

/** A page without scripts, for content that the server itself provides. `body` is HTML. */
export function plainPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><main>
${body}
</main></body>
</html>
`;
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
