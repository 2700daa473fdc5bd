/** An id as a caller sends it. The set includes the ids of common identity providers, such as `auth0|5f7c` and Base64. */
export const endUserPattern = /^[\w.:@/+=|-]{1,64}$/;

/** No id starts with ~, so a hash never equals one. */
const hashPattern = /^~[\w-]{22}$/;

export function isHashedEndUser(text: string): boolean {
  return hashPattern.test(text);
}

/** Whether the text is an id or a hash. */
export function isEndUser(text: string): boolean {
  return endUserPattern.test(text) || hashPattern.test(text);
}
