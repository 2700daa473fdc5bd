/**
 * Ends a request by closing its connection without a status: the caller has gone, or what became of its money could
 * not be learned and any status would be a guess.
 */
export class NoAnswer extends Error {}
