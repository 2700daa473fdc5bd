// Between leaving for the processor's page and coming back, the browser remembers which top-up it was.

const name = "pennyblack.top-up";

export function rememberTopUp(walletId: string, id: string): void {
  sessionStorage.setItem(name, JSON.stringify({ walletId, id }));
}

export function recallTopUp(walletId: string): string | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(name) ?? "null") as { walletId?: unknown; id?: unknown } | null;
    return kept?.walletId === walletId && typeof kept.id === "string" ? kept.id : undefined;
  } catch {
    return undefined;
  }
}

export function forgetTopUp(): void {
  sessionStorage.removeItem(name);
}

/** Where the processor sends the person back to. It takes https only; without it the server has a place of its own. */
export function returnPages(publicUrl: string, walletId: string): Record<string, string> {
  if (!publicUrl.startsWith("https://")) return {};
  const page = `${publicUrl.replace(/\/$/, "")}/console/w/${walletId}/top-up`;
  return { success_url: `${page}?checkout=paid`, cancel_url: `${page}?checkout=left` };
}
