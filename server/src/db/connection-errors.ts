// The driver's errors have no code, only these messages.
const timeouts = ["timeout exceeded when trying to connect", "Connection terminated due to connection timeout"];

/** No connection was opened, or became free, in time. */
export function isConnectTimeout(error: unknown): boolean {
  return error instanceof Error && timeouts.includes(error.message);
}

/** No connection could be opened, or the driver lost it. */
export function isDisconnect(error: unknown): boolean {
  return isConnectTimeout(error) || (error instanceof Error && error.message.startsWith("Connection terminated"));
}
