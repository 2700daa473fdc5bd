// Saves the id of the top-up while the user is on the payment processor's page.

const storageKey = "pennyblack.top-up";

export function saveCheckout(walletId: string, id: string): void {
  sessionStorage.setItem(storageKey, JSON.stringify({ walletId, id }));
}

export function readCheckout(walletId: string): string | undefined {
  try {
    const saved = JSON.parse(sessionStorage.getItem(storageKey) ?? "null") as {
      walletId?: unknown;
      id?: unknown;
    } | null;
    return saved?.walletId === walletId && typeof saved.id === "string" ? saved.id : undefined;
  } catch {
    return undefined;
  }
}

export function clearCheckout(): void {
  sessionStorage.removeItem(storageKey);
}

/** Return URLs for the processor, which accepts only https. Without them the server uses its default. */
export function checkoutReturnUrls(publicUrl: string, walletId: string): Record<string, string> {
  if (!publicUrl.startsWith("https://")) return {};
  const page = `${publicUrl.replace(/\/$/, "")}/console/w/${walletId}/top-up`;
  return { success_url: `${page}?checkout=paid`, cancel_url: `${page}?checkout=left` };
}
