import { escapeHtml } from "../http/plain-page.ts";
import type { Incident, ServiceState, ServiceStatus } from "./status-schema.ts";
import { documentPolicy, script, staleMinutes, style } from "./status-style.ts";
import { targets } from "./summarize-status.ts";

export { statusPolicy } from "./status-style.ts";

/** The page. A copy of it on another host shows its own age. */
export function renderStatus(status: ServiceStatus, publicUrl: string): string {
  const { host } = new URL(publicUrl);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${documentPolicy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Status of ${escapeHtml(host)}</title>
<style>${style}</style>
</head>
<body>
<header>${stamp}<h1>Status of ${escapeHtml(host)}</h1></header>
<main>
${renderState(status)}
${status.cells ? renderCells(status.cells) : ""}
<section>
<h2>Objectives</h2>
${renderObjectives(status.objectives)}
</section>
<section>
<h2>Availability per day</h2>
${renderAvailability(status.days)}
</section>
<section>
<h2>Response time per day</h2>
${renderResponseTimes(status.days)}
</section>
<section>
<h2>Incidents</h2>
${status.incidents.length === 0 ? "<p>None in the last 90 days.</p>" : status.incidents.map(renderIncident).join("\n")}
</section>
</main>
${renderFooter(publicUrl)}
<script>${script}</script>
</body>
</html>
`;
}

const stamp = `<svg viewBox="0 0 32 32" aria-hidden="true"><rect x="4" y="2" width="24" height="28" rx="2" fill="#14171a" stroke="#8d8a83" stroke-width=".5"/><rect x="7" y="5" width="18" height="18" fill="none" stroke="#faf8f4" stroke-width="1.2"/><text x="16" y="18.5" font-family="Georgia, serif" font-size="12" font-weight="700" text-anchor="middle" fill="#faf8f4">1d</text><rect x="7" y="25" width="18" height="1.6" fill="#faf8f4"/></svg>`;

const states: Record<ServiceState, { tone: string; title: string; text: string }> = {
  operational: { tone: "success", title: "No open incidents.", text: "The servers are running." },
  degraded: {
    tone: "warning",
    title: "Degraded.",
    text: "Some searches fail or take longer. A failed search is not charged.",
  },
  outage: { tone: "danger", title: "Outage.", text: "Searches fail. A failed search is not charged." },
  unavailable: {
    tone: "danger",
    title: "Unavailable.",
    text: "No server is running, or the database does not respond. A failed search is not charged.",
  },
};

function renderState({ state, written_at, counted_before, cells = [] }: ServiceStatus): string {
  const { tone, title, text } = states[state];
  const scope = cells.some((cell) => cell.state !== state) ? "In at least one cell: " : "";
  // Figures are normally two to eight minutes behind.
  const lagMinutes = Math.floor((Date.parse(written_at) - Date.parse(counted_before)) / 60_000);
  const lag = lagMinutes < 15 ? "" : ` The figures are ${lagMinutes} minutes behind.`;
  return `<div class="notice" data-tone="danger" data-stale hidden>
<p><strong>Out of date.</strong> The last update was <span data-age></span>. The page is normally updated every minute, so the
service may be unreachable. Reload the page to check for an update.</p></div>
<div class="notice" data-tone="${tone}"><p><span data-stale hidden>Last known state: </span><strong>${scope}${scope === "" ? title : title.toLowerCase()}</strong> ${text}</p></div>
<p class="dimmed">Last updated ${renderTime(written_at, "written")}<span class="age" data-age></span>. Includes searches started before
${renderTime(counted_before)}.${lag}</p>
<noscript><p class="dimmed">If the last update is more than ${staleMinutes} minutes ago, this page is out of date and the service may be
unreachable.</p></noscript>`;
}

function renderCells(cells: NonNullable<ServiceStatus["cells"]>): string {
  const rows = cells.map(
    ({ name, state, availability }) =>
      `<tr><td>${escapeHtml(name)}</td><td>${states[state].title.replace(".", "")}</td><td class="numeric">${percent(availability)}</td></tr>`,
  );
  return `<section>
<h2>Cells</h2>
<table><thead><tr><th>Cell</th><th>State</th><th class="numeric">Availability, 30 days</th></tr></thead>
<tbody>${rows.join("\n")}</tbody></table>
</section>`;
}

const objectiveNames: Record<ServiceStatus["objectives"][number]["name"], string> = {
  availability: "Availability: requests that succeeded",
  own_availability: "Own availability: failures of providers do not count",
  own_latency: "Own latency: searches that spent at most 100 ms outside providers",
};

function renderObjectives(objectives: ServiceStatus["objectives"]): string {
  const rows = objectives.map(({ name, target, value, met }) => {
    const result = describeResult(met);
    return `<tr><td>${objectiveNames[name]}</td><td class="numeric">${percent(target)}</td><td class="numeric">${percent(value)}<br><span class="${met === null ? "dimmed" : result}">${result}</span></td></tr>`;
  });
  return `<table><thead><tr><th>Objective</th><th class="numeric">Target</th><th class="numeric">30 days</th></tr></thead>
<tbody>${rows.join("\n")}</tbody></table>`;
}

function describeResult(met: boolean | null): string {
  if (met === null) return "no requests";
  return met ? "met" : "missed";
}

function levelOf(availability: number | null): "none" | "ok" | "low" | "bad" {
  if (availability === null) return "none";
  if (availability >= targets.availability) return "ok";
  return availability >= 0.97 ? "low" : "bad";
}

type Days = ServiceStatus["days"];
const barWidth = 10;
const barHeight = 100;
const axis = `<p class="axis"><span>90 days ago</span><span>today</span></p>`;

/** A day below its target also has a shorter bar, for readers who cannot distinguish the colors. */
function renderAvailability(days: Days): string {
  const known = days.flatMap(({ day, availability }) => (availability === null ? [] : [{ day, availability }]));
  const [lowest] = known.toSorted((a, b) => a.availability - b.availability);
  const bars = days.map(({ day, availability }, index) => {
    const level = levelOf(availability);
    return bar({
      index,
      level,
      part: { none: 0.06, ok: 1, low: 0.7, bad: 0.4 }[level],
      title: `${day}: ${percent(availability)}`,
    });
  });
  const summary = lowest ? `The lowest is ${percent(lowest.availability)} on ${lowest.day}.` : "No requests.";
  return `${chart(bars, `Availability per day in the last 90 days. ${summary}`)}
${axis}
<p class="dimmed">${summary}</p>`;
}

function renderResponseTimes(days: Days): string {
  const highest = Math.max(...days.map(({ p95_ms }) => p95_ms ?? 0));
  const bars = days.map(({ day, p95_ms }, index) => {
    const level = p95_ms === null ? "none" : "time";
    return bar({
      index,
      level,
      part: p95_ms === null ? 0.06 : p95_ms / highest,
      title: `${day}: ${milliseconds(p95_ms)}`,
    });
  });
  const summary = highest === 0 ? "No searches." : `The highest is ${milliseconds(highest)}.`;
  const rows = days
    .filter(({ availability, p95_ms }) => availability !== null || p95_ms !== null)
    .toReversed()
    .map(
      ({ day, availability, p95_ms }) =>
        `<tr><td>${day}</td><td class="numeric">${percent(availability)}</td><td class="numeric">${milliseconds(p95_ms)}</td></tr>`,
    );
  return `${chart(bars, `95th percentile of the response time per day in the last 90 days. ${summary}`)}
${axis}
<p class="dimmed">95th percentile of successful searches, measured from the request to the charge. ${summary}</p>
<details><summary>All days</summary>
<table><thead><tr><th>Day (UTC)</th><th class="numeric">Availability</th><th class="numeric">p95</th></tr></thead>
<tbody>${rows.join("\n")}</tbody></table></details>`;
}

function bar({ index, level, part, title }: { index: number; level: string; part: number; title: string }): string {
  const height = Math.max(3, Math.round(part * barHeight));
  return `<rect class="${level}" x="${index * barWidth + 1}" y="${barHeight - height}" width="${barWidth - 2}" height="${height}"><title>${title}</title></rect>`;
}

function chart(bars: readonly string[], label: string): string {
  return `<svg class="bars" viewBox="0 0 ${bars.length * barWidth} ${barHeight}" preserveAspectRatio="none" role="img" aria-label="${label}">${bars.join("")}</svg>`;
}

function renderIncident({ title, impact, opened_at, closed_at, updates }: Incident): string {
  const period = closed_at === null ? "open" : `closed ${renderTime(closed_at)}`;
  const lines = updates.toReversed().map(({ at, text }) => `<li>${renderTime(at)}${escapeHtml(text)}</li>`);
  return `<article><h3>${escapeHtml(title)}</h3>
<p class="dimmed">${states[impact].title.replace(".", "")}, since ${renderTime(opened_at)}, ${period}</p>
<ol>${lines.join("\n")}</ol></article>`;
}

function renderFooter(publicUrl: string): string {
  return `<footer><p>The figures cover all callers' requests with a live key, except those rejected because of the caller. Days are in UTC.
<a href="status.json">The same as JSON</a>.</p>
<p><a href="${escapeHtml(publicUrl)}/docs/">Documentation</a></p></footer>`;
}

/** "2026-11-19T08:05:00.000Z" as "2026-11-19 08:05 UTC". */
function renderTime(at: string, id?: string): string {
  const attribute = id === undefined ? "" : ` id="${id}"`;
  return `<time${attribute} datetime="${escapeHtml(at)}">${escapeHtml(at.slice(0, 16).replace("T", " "))} UTC</time>`;
}

/** Rounded down, so that only a period without a failure has 100%. */
function percent(ratio: number | null): string {
  return ratio === null ? "–" : `${(Math.floor(ratio * 10_000 + 1e-6) / 100).toFixed(2)}%`;
}

function milliseconds(ms: number | null): string {
  if (ms === null) return "–";
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
