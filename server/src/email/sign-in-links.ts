import { mintToken } from "../lib/token.ts";

/**
 * A token that contains the address it signs in, so that the page can show it before signing in. Only the digest of the
 * whole token is stored: with another address in it, the token is not valid.
 */
export function mintSignInToken(email: string): string {
  return mintToken() + Buffer.from(email).toString("base64url");
}

/** The token is in the fragment, so that it never appears in a server log or a Referer header. */
export function signInLink(publicUrl: string, token: string, returnTo?: string): string {
  const back = returnTo === undefined ? "" : `&return_to=${encodeURIComponent(returnTo)}`;
  return `${publicUrl}/console/sign-in#token=${token}${back}`;
}

export function invitationLink(publicUrl: string, token: string): string {
  return `${publicUrl}/console/invitation#token=${token}`;
}
