// The journal beside an unfinished output: what is being converted and how, then a line for every point from which the
// conversion can go on. Lines are only appended; one that was cut off by a crash is skipped.
import { CoreError, type ErrorCode } from './errors';
import type { ConvertOptions } from './report';
import type { Resumable } from './sink';

/** What must be the same for a later run to go on. */
export interface JournalHead {
  /** of the sources, ByteSource.identity */
  sources: string[];
  options: ConvertOptions;
  /** PlanReport.fingerprint */
  plan: string;
  output_bytes: number;
}

/** A point that a conversion can go on from. Of one that only moves bytes: no more than where it stands. */
export interface Mark {
  bytes: number;
  /** tensors that stand in these bytes, their hash, and what converting them met: see src/session/resumption.h */
  step?: number;
  xxh64?: string;
  outcomes?: number[][];
}

export interface LeftOver {
  head: JournalHead;
  mark: Mark;
}

/** How much work may be lost. */
const INTERVAL_MS = 1000;
/** Where flushing holds everything up, it may take this share of the time. */
const FLUSH_SHARE = 0.05;

/** Null where nothing of use is in it. */
export function readJournal(text: string): LeftOver | null {
  const lines = text.split('\n').flatMap(parsed);
  const head = lines.find(isHead);
  const marks = lines.filter(isMark);
  const last = marks.at(-1);
  if (head === undefined || last === undefined) return null;
  const outcomes = marks.flatMap((mark) => mark.outcomes ?? []);
  return { head, mark: last.step === undefined ? last : { ...last, outcomes } };
}

/** Errc: resume_refused, with what is not the same. */
export function checkSameJob(head: JournalHead, now: Omit<JournalHead, 'plan' | 'output_bytes'>): void {
  if (head.sources.join('\n') !== now.sources.join('\n')) {
    throw refused('the input is not the one that was being converted, or it has changed since');
  }
  if (canonical(head.options) !== canonical(now.options)) {
    throw refused(`the options are others than those of the interrupted conversion: ${JSON.stringify(head.options)}`);
  }
}

export function checkSamePlan(head: JournalHead, fingerprint: string): void {
  if (head.plan === fingerprint) return;
  throw refused('this version plans the conversion in another way, or the files beside the input have changed');
}

function refused(why: string): CoreError {
  return new CoreError('resume_refused', '', `${why}; convert from the beginning instead`);
}

/** Failures after which the same job may go well later. */
const PASSING_CODES: readonly ErrorCode[] = [
  'offline',
  'login_required',
  'access_denied',
  'rate_limited',
  'server_failed',
  'timed_out',
  'connection_lost',
  'read_failed',
  'resume_refused',
];

export class Journal {
  readonly #sink: Resumable;
  #noted: Mark | null;
  #nextAt = performance.now() + INTERVAL_MS;
  #writing: Promise<void> | null = null;
  #failed = false;

  /** `from`: where the output at hand was gone on from. */
  constructor(sink: Resumable, from: Mark | null) {
    this.#sink = sink;
    this.#noted = from;
  }

  async begin(head: JournalHead): Promise<void> {
    await this.#note(head);
  }

  /** The next mark need only tell what was met from here on. */
  get step(): number {
    return this.#noted?.step ?? 0;
  }

  get isDue(): boolean {
    return this.#writing === null && performance.now() >= this.#nextAt;
  }

  /** Everything up to the mark was handed to the sink. Does not wait for the disk. */
  add(mark: Mark): void {
    const isNew = mark.bytes > (this.#noted?.bytes ?? 0) && mark.step !== 0;
    if (!isNew || this.#failed || this.#writing !== null) return;
    const began = performance.now();
    this.#writing = this.#flushAndNote(mark).finally(() => {
      this.#writing = null;
    });
    const blockedMs = performance.now() - began;
    this.#nextAt = performance.now() + Math.max(INTERVAL_MS, blockedMs / FLUSH_SHARE);
  }

  async settle(): Promise<void> {
    await this.#writing;
  }

  /** Whether what was written is of use after this failure. */
  keeps(thrown: unknown): boolean {
    if (this.#noted === null || !(thrown instanceof CoreError)) return false;
    if (thrown.code === 'cancelled') return this.#sink.keepsCancelled;
    return PASSING_CODES.includes(thrown.code);
  }

  async #flushAndNote(mark: Mark): Promise<void> {
    try {
      const flushing = this.#sink.flush();
      if (flushing) await flushing;
      await this.#note(mark);
      this.#noted = mark;
    } catch {
      // Converting is what was asked for; it only can no longer be resumed further than it was noted.
      this.#failed = true;
    }
  }

  async #note(line: JournalHead | Mark): Promise<void> {
    await this.#sink.note(`\n${JSON.stringify(line)}`);
  }
}

/** The same text for the same options, in whatever order they were given. */
function canonical(options: ConvertOptions): string {
  const sorted = Object.entries(options).filter(([, value]) => value !== undefined);
  return JSON.stringify(sorted.map(([key, value]) => [key, ordered(value)]).sort());
}

function ordered(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? Object.entries(value).sort() : value;
}

function parsed(line: string): unknown[] {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}

function isHead(line: unknown): line is JournalHead {
  const { sources, options, plan } = Object(line) as Partial<JournalHead>;
  return Array.isArray(sources) && typeof options === 'object' && typeof plan === 'string';
}

function isMark(line: unknown): line is Mark {
  const { bytes, step = 0, outcomes = [] } = Object(line) as Partial<Mark>;
  return Number.isSafeInteger(bytes) && Number.isSafeInteger(step) && Array.isArray(outcomes);
}
