import type { LensInspection } from "@pennyblack/sdk";
import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";

interface Lens {
  name: string;
  version: string;
  lambda: number;
}

export const lensesQuery = queryOptions({
  queryKey: ["lenses"],
  queryFn: async () => (await api<{ lenses: Lens[] }>("/v1/lenses")).lenses,
  staleTime: 60_000,
});

/** The tier of a page, and the rule or list behind it. */
export const inspectionQuery = (lens: string, url: string) =>
  queryOptions({
    queryKey: ["lenses", lens, url],
    queryFn: () =>
      api<LensInspection>(`/v1/lenses/${encodeURIComponent(lens)}/inspect?${new URLSearchParams({ url }).toString()}`),
    staleTime: 60_000,
  });
