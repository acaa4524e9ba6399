// Requests: at most eight at once, counted, timed, repeated where that can help. The token lives here, in memory only,
// and goes to the Hub's own origin and to nobody else; a redirect to another origin drops it (Fetch standard).
import { CoreError } from './errors';
import { type Fetch, networkError } from './http_failures';
import { Gate } from './http_gate';
import { rangeHeader } from './http_range';
import { ATTEMPTS_MAX, isPassing, retryDelayMs, WAIT_MOST_MS } from './http_retry';
import { isLocal } from './hub_address';

/** An answer that does not move for this long is given up. */
export const STALL_MS = 30_000;
/** Tries at a server that never answered yet: it is most likely not going to. */
const FIRST_ATTEMPTS_MAX = 2;

export interface HttpOptions {
  /** where the token may go */
  hubOrigin?: string | undefined;
  token?: string | null | undefined;
  fetch?: Fetch | undefined;
  stallMs?: number | undefined;
  sleep?: ((ms: number) => Promise<void>) | undefined;
}

/** What it cost so far. */
export interface Traffic {
  requests: number;
  bytes: number;
  /** of the requests: repeated ones */
  retries: number;
}

export class HttpClient {
  readonly gate = new Gate();
  readonly traffic: Traffic = { requests: 0, bytes: 0, retries: 0 };
  readonly #fetch: Fetch;
  readonly #stallMs: number;
  readonly #sleep: (ms: number) => Promise<void>;
  readonly #hubOrigin: string | null;
  readonly #token: string | null;
  readonly #answered = new Set<string>();
  #stop = new AbortController();

  constructor({ hubOrigin, token, fetch, stallMs = STALL_MS, sleep }: HttpOptions = {}) {
    // A bare `fetch` loses its `this` in browsers.
    this.#fetch = fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.#stallMs = stallMs;
    this.#sleep = sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms)));
    this.#hubOrigin = hubOrigin ?? null;
    this.#token = token || null;
  }

  get hasToken(): boolean {
    return this.#token !== null;
  }

  /** Everything under way ends with `cancelled`; later requests are none of its business. */
  interrupt(): void {
    this.#stop.abort();
    this.#stop = new AbortController();
  }

  /** The answer, whatever its status, once it is not one that passes by itself. */
  async get(name: string, url: string, range?: { begin: number; end: number }): Promise<Exchange> {
    const stop = this.#stop.signal;
    for (let attempt = 0; ; ++attempt) {
      const answer = await this.#once(name, url, range, stop);
      if (answer instanceof Exchange) {
        if (!isPassing(answer.status)) return answer;
        answer.cancel();
        const waitMs = retryDelayMs(answer.headers, attempt);
        if (attempt + 1 >= ATTEMPTS_MAX || waitMs > WAIT_MOST_MS) throw passingError(name, answer.status, waitMs);
        await this.#pause(waitMs, stop);
      } else {
        const most = this.#answered.has(new URL(url).origin) ? ATTEMPTS_MAX : FIRST_ATTEMPTS_MAX;
        if (attempt + 1 >= most) {
          if (answer.thrown instanceof CoreError) throw answer.thrown;
          throw await networkError(name, url, answer.thrown, this.#fetch);
        }
        await this.#pause(retryDelayMs(null, attempt), stop);
      }
      this.traffic.retries += 1;
    }
  }

  /** A small answer as a whole; of any other than a 200 only its status and headers. */
  async getAll(name: string, url: string, bytesMax: number): Promise<WholeAnswer> {
    for (let failures = 1; ; ++failures) {
      const exchange = await this.get(name, url);
      const { status, headers } = exchange;
      try {
        if (status !== 200) return { status, headers, bytes: new Uint8Array() };
        return { status, headers, bytes: await exchange.all(bytesMax) };
      } catch (thrown) {
        if (!isInterruption(thrown)) throw thrown;
        if (failures === ATTEMPTS_MAX) throw lostError(name, failures, thrown);
      } finally {
        exchange.cancel();
      }
      await this.backOff(failures - 1);
    }
  }

  /** A pause after `failures` interruptions that brought nothing. */
  async backOff(failures: number): Promise<void> {
    this.traffic.retries += 1;
    if (failures > 0) await this.#pause(retryDelayMs(null, failures - 1), this.#stop.signal);
  }

  async #once(
    name: string,
    url: string,
    range: { begin: number; end: number } | undefined,
    stop: AbortSignal,
  ): Promise<Exchange | { thrown: unknown }> {
    // listings, indexes and configs come before the parts of files that they are about
    await this.gate.enter(range === undefined);
    const watch = new Watch(name, this.#stallMs, stop);
    try {
      throwIfStopped(stop);
      this.traffic.requests += 1;
      const response = await watch.over(this.#fetch(url, { ...this.#init(url, range), signal: watch.signal }));
      this.#answered.add(new URL(url).origin);
      checkStaysSafe(name, response.url);
      return new Exchange(name, response, watch, this.gate, this.traffic);
    } catch (thrown) {
      watch.abort();
      watch.end();
      this.gate.leave();
      throwIfStopped(stop);
      if (thrown instanceof CoreError && thrown.code === 'bad_answer') throw thrown;
      return { thrown };
    }
  }

  #init(url: string, range: { begin: number; end: number } | undefined): RequestInit {
    const headers: Record<string, string> = {};
    if (range) headers.Range = rangeHeader(range.begin, range.end);
    if (this.#token !== null && new URL(url).origin === this.#hubOrigin) {
      headers.Authorization = `Bearer ${this.#token}`;
    }
    return { headers, credentials: 'omit', cache: 'no-store', referrerPolicy: 'no-referrer' };
  }

  async #pause(ms: number, stop: AbortSignal): Promise<void> {
    let wake = (): void => {};
    const stopped = new Promise<void>((resolve) => {
      wake = resolve;
      stop.addEventListener('abort', wake, { once: true });
    });
    await Promise.race([this.#sleep(ms), stopped]);
    stop.removeEventListener('abort', wake);
    throwIfStopped(stop);
  }
}

/** Only https is read, wherever a redirect leads; http from this very machine aside. */
function checkStaysSafe(name: string, url: string): void {
  if (!url.startsWith('http:') || isLocal(new URL(url).hostname)) return;
  throw new CoreError('bad_answer', name, `the server sends on to ${new URL(url).host} without encryption`);
}

export interface WholeAnswer {
  status: number;
  headers: Headers;
  bytes: Uint8Array;
}

/** One answer and its body. Holds a place at the gate until the body is read or cancelled. */
export class Exchange {
  readonly status: number;
  readonly headers: Headers;
  /** after redirects */
  readonly url: string;
  readonly #name: string;
  readonly #watch: Watch;
  readonly #gate: Gate;
  readonly #traffic: Traffic;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | null;
  #ended = false;

  constructor(name: string, response: Response, watch: Watch, gate: Gate, traffic: Traffic) {
    this.status = response.status;
    this.headers = response.headers;
    this.url = response.url;
    this.#name = name;
    this.#watch = watch;
    this.#gate = gate;
    this.#traffic = traffic;
    this.#reader = response.body?.getReader() ?? null;
  }

  /** The next piece of the body; null at its end. Throws where the connection breaks or stalls. */
  async read(): Promise<Uint8Array | null> {
    if (this.#ended || this.#reader === null) return this.#finish();
    try {
      const { done, value } = await this.#watch.over(this.#reader.read());
      if (done) return this.#finish();
      this.#traffic.bytes += value.length;
      return value;
    } catch (thrown) {
      this.cancel();
      throw thrown;
    }
  }

  /** A small body as a whole. */
  async all(bytesMax: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    let lengthBytes = 0;
    for (let piece = await this.read(); piece !== null; piece = await this.read()) {
      lengthBytes += piece.length;
      pieces.push(piece);
      if (lengthBytes <= bytesMax) continue;
      this.cancel();
      throw new CoreError('bad_answer', this.#name, `the answer is longer than ${bytesMax} bytes`);
    }
    const all = new Uint8Array(lengthBytes);
    let at = 0;
    for (const piece of pieces) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }

  /** What was not read is not wanted: the transfer stops here. */
  cancel(): void {
    if (this.#ended) return;
    this.#watch.abort();
    this.#finish();
  }

  #finish(): null {
    if (this.#ended) return null;
    this.#ended = true;
    this.#watch.end();
    this.#gate.leave();
    return null;
  }
}

/** Ends a request that stalls, or that nobody wants any more. */
class Watch {
  readonly #name: string;
  readonly #stallMs: number;
  readonly #stop: AbortSignal;
  readonly #abort = new AbortController();
  readonly #onStop = (): void => this.abort();

  constructor(name: string, stallMs: number, stop: AbortSignal) {
    this.#name = name;
    this.#stallMs = stallMs;
    this.#stop = stop;
    stop.addEventListener('abort', this.#onStop, { once: true });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(): void {
    this.#abort.abort();
  }

  end(): void {
    this.#stop.removeEventListener('abort', this.#onStop);
  }

  async over<T>(work: Promise<T>): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stalled = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new CoreError('timed_out', this.#name, `the server sent nothing for ${this.#stallMs / 1000} s`));
        this.abort();
      }, this.#stallMs);
    });
    try {
      return await Promise.race([work, stalled]);
    } catch (thrown) {
      throwIfStopped(this.#stop);
      throw thrown;
    } finally {
      clearTimeout(timer);
      // the loser of the race may still fail
      work.catch(() => {});
    }
  }
}

function throwIfStopped(stop: AbortSignal): void {
  if (stop.aborted) throw new CoreError('cancelled', '', 'stopped by the user');
}

/** What the platform throws at a broken body, and what we say of a stalled one; everything else is final. */
export function isInterruption(thrown: unknown): boolean {
  return !(thrown instanceof CoreError) || thrown.code === 'timed_out' || thrown.code === 'connection_lost';
}

export function lostError(name: string, failures: number, thrown: unknown): CoreError {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new CoreError(
    'connection_lost',
    name,
    `the connection broke ${failures} times without a new byte (${reason})`,
  );
}

function passingError(name: string, status: number, waitMs: number): CoreError {
  if (status !== 429) {
    return new CoreError('server_failed', name, `the server answered ${status}, ${ATTEMPTS_MAX} times`);
  }
  const seconds = Math.ceil(waitMs / 1000);
  return new CoreError('rate_limited', name, `the server allows no more requests for now; it asks for ${seconds} s`);
}
