import { createHash } from "node:crypto";

// The colors and type of the console (console/src/theme.ts). In the page itself, because the static copy is on another host.
export const style = `
:root { color-scheme: light dark; --paper: #faf8f4; --ink: #14171a; --dimmed: #5b5a56; --hairline: #e2ded5; --raised: #fffefb;
  --accent: #1f5aa6; --success: #2e7d4f; --warning: #8f5500; --danger: #b3261e; --none: #d3cfc5 }
@media (prefers-color-scheme: dark) { :root { --paper: #101214; --ink: #e9e6df; --dimmed: #a5a29a; --hairline: #2a2e32;
  --raised: #16191b; --accent: #7fb0f0; --success: #7cc79b; --warning: #f0b95b; --danger: #f2938c; --none: #3a3f44 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 40px 24px 64px; max-width: 880px; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; font-variant-numeric: tabular-nums }
header { display: flex; align-items: center; gap: 12px; margin-bottom: 24px }
header svg { flex: none; width: 32px; height: 32px }
h1 { margin: 0; font-size: 26px; line-height: 1.25; font-weight: 600; overflow-wrap: anywhere }
h2 { margin: 40px 0 12px; font-size: 18px; line-height: 1.35; font-weight: 600 }
h3 { margin: 0; font-size: 15px; line-height: 1.4; font-weight: 600; overflow-wrap: anywhere }
p { margin: 0 0 8px }
a { color: var(--accent); text-underline-offset: 4px }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
.age:not(:empty)::before { content: ", " }
.dimmed { color: var(--dimmed); font-size: 14px }
.notice { padding: 12px 16px; margin-bottom: 16px; border: 1px solid var(--hairline); border-left: 3px solid var(--success);
  border-radius: 4px; background: var(--raised) }
.notice p:last-child { margin: 0 }
.notice strong { font-weight: 600 }
.notice[data-tone="warning"] { border-left-color: var(--warning) } .notice[data-tone="danger"] { border-left-color: var(--danger) }
.notice[data-tone="warning"] strong { color: var(--warning) } .notice[data-tone="danger"] strong { color: var(--danger) }
table { width: 100%; border-collapse: collapse }
th, td { padding: 8px 16px 8px 0; border-bottom: 1px solid var(--hairline); text-align: left; vertical-align: top }
th { font-size: 13px; font-weight: 500; color: var(--dimmed) }
th:last-child, td:last-child { padding-right: 0 }
.numeric { text-align: right; white-space: nowrap }
.bars { display: block; width: 100%; height: 56px }
.bars .ok { fill: var(--success) } .bars .low { fill: var(--warning) } .bars .bad { fill: var(--danger) }
.bars .none { fill: var(--none) } .bars .time { fill: var(--accent) }
.axis { display: flex; justify-content: space-between; gap: 16px; margin: 4px 0 8px; color: var(--dimmed); font-size: 13px }
.missed { color: var(--danger) } .met { color: var(--success) }
article { padding: 16px 0; border-bottom: 1px solid var(--hairline) }
article ol { margin: 8px 0 0; padding: 0; list-style: none }
article li { margin: 8px 0 0; overflow-wrap: anywhere }
time { white-space: nowrap }
li time { display: block; color: var(--dimmed); font-size: 13px }
summary { cursor: pointer; margin-top: 16px; color: var(--accent) }
footer { margin-top: 40px; color: var(--dimmed); font-size: 14px }
@media (max-width: 480px) { body { padding: 24px 16px 48px } th, td { padding-right: 10px } .bars { height: 48px } }
`;

/** There is a new document every minute. */
export const staleMinutes = 5;

/** Shows how old this document is. It can be a copy that is no longer replaced. */
export const script = `
const written = Date.parse(document.getElementById("written").dateTime);
function show() {
  const minutes = Math.max(0, Math.floor((Date.now() - written) / 60000));
  const hours = Math.floor(minutes / 60);
  const age = minutes < 1 ? "less than a minute ago" : minutes === 1 ? "1 minute ago" :
    hours < 2 ? minutes + " minutes ago" : hours < 48 ? hours + " hours ago" : Math.floor(hours / 24) + " days ago";
  for (const each of document.querySelectorAll("[data-age]")) each.textContent = age;
  for (const each of document.querySelectorAll("[data-stale]")) each.hidden = minutes < ${staleMinutes};
}
show();
setInterval(show, 5000);
`;

const digest = (text: string): string => createHash("sha256").update(text).digest("base64");

/** Allows the style and the script, and nothing else. Also in the document, for hosts that send no headers. */
export const documentPolicy = `default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-${digest(style)}'; script-src 'sha256-${digest(script)}'`;
export const statusPolicy = `${documentPolicy}; frame-ancestors 'none'`;
