import type { LensInspection, LensList } from "@pennyblack/sdk";
import { queryOptions } from "@tanstack/react-query";
import { api } from "./client.ts";

export const lensesQuery = queryOptions({
  queryKey: ["lenses"],
  queryFn: async () => (await api<LensList>("/v1/lenses")).lenses,
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
