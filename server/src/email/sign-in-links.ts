/** The token is in the fragment, so that it never appears in a server log or a Referer header. */
export function signInLink(publicUrl: string, token: string, returnTo?: string): string {
  const back = returnTo === undefined ? "" : `&return_to=${encodeURIComponent(returnTo)}`;
  return `${publicUrl}/console/sign-in#token=${token}${back}`;
}

export function invitationLink(publicUrl: string, token: string): string {
  return `${publicUrl}/console/invitation#token=${token}`;
}
