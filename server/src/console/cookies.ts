import type { IncomingMessage } from "node:http";

export interface Cookie {
  read(request: IncomingMessage): string | undefined;
  /** Value of the Set-Cookie header. */
  write(value: string, maxAgeSeconds: number): string;
  clear(): string;
}

/**
 * An HttpOnly, SameSite=Lax cookie. On HTTPS it has the __Host- prefix, so browsers reject one that was set by another
 * host or without TLS.
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
      // With two cookies of one name, at least one is not ours, so use neither.
      return values.length === 1 ? values[0] : undefined;
    },
    write: (value, maxAgeSeconds) => `${fullName}=${value}; Max-Age=${maxAgeSeconds}; ${attributes}`,
    clear: () => `${fullName}=; Max-Age=0; ${attributes}`,
  };
}
