/**
 * Ends a request by closing its connection without a response: the caller has disconnected, or it is unknown whether the
 * caller was charged, so that any status could be wrong.
 */
export class NoResponse extends Error {}
