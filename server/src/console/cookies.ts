import type { IncomingMessage } from "node:http";

export interface Cookie {
  read(request: IncomingMessage): string | undefined;
  /** The header that sets it. */
  write(value: string, maxAgeSeconds: number): string;
  clear(): string;
}

/**
 * A cookie that no script reads and no other site's form sends along. On HTTPS its name begins with __Host-, which makes
 * the browser refuse one that was set by another host or without TLS.
 */
export function createCookie(name: string, publicUrl: string): Cookie {
  const isSecure = publicUrl.startsWith("https:");
  const fullName = isSecure ? `__Host-${name}` : name;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
  return {
    read(request) {
      const values = (request.headers.cookie ?? "")
        .split(";")
        .map((part) => part.trim())
        .filter((part) => part.startsWith(`${fullName}=`))
        .map((part) => part.slice(fullName.length + 1));
      // Two of one name were not both set by us, and we do not guess which was.
      return values.length === 1 ? values[0] : undefined;
    },
    write: (value, maxAgeSeconds) => `${fullName}=${value}; Max-Age=${maxAgeSeconds}; ${attributes}`,
    clear: () => `${fullName}=; Max-Age=0; ${attributes}`,
  };
}
