// When to ask again, and after how long.

/** Tries without a single new byte, until a transfer counts as lost. */
export const ATTEMPTS_MAX = 6;
const BACKOFF_FIRST_MS = 500;
const BACKOFF_MOST_MS = 60_000;
/** The Hub counts in windows of five minutes; whoever asks for more is not waited for. */
export const WAIT_MOST_MS = 330_000;

/** Busy, or broken for the moment: the same request may well succeed later. */
export function isPassing(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
}

/** Refused: a signed URL that has expired answers so, and then the first address gives a new one. */
export function isExpired(status: number): boolean {
  return status === 401 || status === 403 || status === 410;
}

interface Headers {
  get(name: string): string | null;
}

/** What the server asks for; without a word of it (pages cannot see all headers) a growing pause of our own. */
export function retryDelayMs(
  headers: Headers | null,
  attempt: number,
  now = Date.now(),
  random: () => number = Math.random,
): number {
  const asked =
    retryAfterMs(headers?.get('retry-after') ?? null, now) ?? rateLimitMs(headers?.get('ratelimit') ?? null);
  return asked ?? Math.min(BACKOFF_MOST_MS, BACKOFF_FIRST_MS * 2 ** attempt) * (0.5 + random() / 2);
}

/** Retry-After: seconds, or a date. */
export function retryAfterMs(text: string | null, now: number): number | null {
  if (text === null) return null;
  if (/^\s*\d+(\.\d+)?\s*$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

/** RateLimit: "api";r=0;t=55 - nothing remains, and the window ends in t seconds. */
export function rateLimitMs(text: string | null): number | null {
  if (text === null) return null;
  const remaining = /[;,\s]r(?:emaining)?=(\d+)/.exec(text);
  const reset = /[;,\s](?:t|reset)=(\d+)/.exec(text);
  return remaining && reset && Number(remaining[1]) === 0 ? Number(reset[1]) * 1000 : null;
}
