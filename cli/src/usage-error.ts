/** An error the user can fix by changing the command, the profile or the environment. */
export class UsageError extends Error {}
