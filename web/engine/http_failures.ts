// Why a server gave nothing, in the words of the product.
import { CoreError } from './errors';
import type { Answer } from './http_range';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A status that no repetition will mend. `page` is where a person can do something about it. */
export function statusError(name: string, answer: Answer, page: string | null, hasToken: boolean): CoreError {
  const { status, headers } = answer;
  const kind = headers.get('x-error-code');
  const at = page === null ? '' : ` See ${page}`;
  if (status === 404 || status === 410) return new CoreError('not_found', name, notFoundText(kind, status));
  if (status === 401 && kind === 'GatedRepo') {
    return new CoreError('login_required', name, `the repo is gated: accept its licence, then give a read token.${at}`);
  }
  if (status === 401) {
    const why = hasToken
      ? 'the token is not valid here, or the repo does not exist'
      : 'the repo does not exist, or it is private and needs a read token';
    return new CoreError('login_required', name, `${why} (401).${at}`);
  }
  if (status === 403) {
    const why =
      kind === 'GatedRepo'
        ? 'the token is good, but its owner has not been let into this gated repo: accept the licence there'
        : 'the server refuses access (403)';
    return new CoreError('access_denied', name, `${why}.${at}`);
  }
  return new CoreError('server_failed', name, `the server answered ${status}`);
}

function notFoundText(kind: string | null, status: number): string {
  if (kind === 'RevisionNotFound') return 'the repo has no such revision';
  if (kind === 'EntryNotFound') return 'the repo has no such file';
  if (kind === 'RepoNotFound') return 'there is no such repo';
  return `the server has no such file (${status})`;
}

/**
 * fetch() fails with one and the same TypeError when the network is down, when a name does not resolve and when a server
 * forbids other sites to read it. Node says which in `cause`; a browser is asked once more without reading the answer.
 */
export async function networkError(name: string, url: string, thrown: unknown, fetch: Fetch): Promise<CoreError> {
  const host = new URL(url).host;
  const cause = causeOf(thrown);
  if (cause !== null) return new CoreError('offline', name, `${host} cannot be reached (${cause})`);
  if (globalThis.navigator?.onLine === false) return new CoreError('offline', name, 'this computer is offline');
  if (await answersAtAll(url, fetch)) {
    return new CoreError('cors_blocked', name, `${host} answers, but does not allow web pages to read it (no CORS)`);
  }
  return new CoreError('offline', name, `${host} cannot be reached`);
}

async function answersAtAll(url: string, fetch: Fetch): Promise<boolean> {
  try {
    await fetch(url, { mode: 'no-cors', method: 'HEAD', credentials: 'omit', cache: 'no-store' });
    return true;
  } catch {
    return false;
  }
}

/** Only Node's fetch has one. */
function causeOf(thrown: unknown): string | null {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  if (!(cause instanceof Error)) return null;
  const { code } = cause as { code?: unknown };
  return typeof code === 'string' ? code : cause.message;
}
