import { readdirSync, statSync, unlinkSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { RankExplanation, SearchAnswer } from "@pennyblack/sdk";
import { readPrivateFile, writePrivateFile } from "./private-file.ts";

// The API stores neither queries nor results. For `pennyblack why`, the CLI saves the results of recent searches with
// their explanations, one file per request id. Queries are not saved.

export interface SavedRanking {
  lens: string | undefined;
  results: { title: string; url: string }[];
  explanation: RankExplanation[];
}

const maxRankings = 50;
// The request id is part of a path and comes from the server.
const requestIdPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function rankingsFolder(env: NodeJS.ProcessEnv, platform = process.platform): string {
  return join(stateFolder(env, platform), "pennyblack", "searches");
}

function stateFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string {
  const home = homedir();
  if (platform === "win32") return env["LOCALAPPDATA"] ?? join(home, "AppData", "Local");
  return env["XDG_STATE_HOME"] || join(home, ".local", "state");
}

/** Never fails: a search that was charged must print its results. */
export function saveRanking(folder: string, { results, meta }: SearchAnswer): void {
  if (meta.explanation === undefined || !requestIdPattern.test(meta.requestId)) return;
  const ranking: SavedRanking = {
    lens: meta.lens,
    results: results.map(({ title, url }) => ({ title, url })),
    explanation: meta.explanation,
  };
  try {
    writePrivateFile(join(folder, `${meta.requestId}.json`), JSON.stringify(ranking));
    pruneRankings(folder);
  } catch {
    // `pennyblack why` reports that the ranking is missing.
  }
}

/** Returns undefined if it was never saved, was deleted or is damaged. */
export function readRanking(folder: string, requestId: string): SavedRanking | undefined {
  if (!requestIdPattern.test(requestId)) return undefined;
  const text = readPrivateFile(join(folder, `${requestId}.json`));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as SavedRanking;
  } catch {
    return undefined;
  }
}

function pruneRankings(folder: string): void {
  const files = readdirSync(folder).map((name) => join(folder, name));
  if (files.length <= maxRankings) return;
  const byAge = files.map((path) => ({ path, savedMs: statSync(path).mtimeMs })).sort((a, b) => b.savedMs - a.savedMs);
  for (const { path } of byAge.slice(maxRankings)) unlinkSync(path);
}
