/** Exit code 2: the command line itself is wrong. */
export class UsageError extends Error {}
