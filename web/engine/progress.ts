// Progress, at most ten times a second however small the chunks are; a new phase is always told. The
// same clock decides when a job lets other messages in, so that a cancel is heard within a chunk.
import type { Traffic } from './http_client';
import type { Phase, Progress } from './protocol';

const INTERVAL_MS = 100;

export class ProgressMeter {
  readonly #report: ((progress: Progress) => void) | undefined;
  readonly #traffic: () => Traffic | null;
  #phase: Phase = 'header';
  #done = 0;
  #total = 0;
  #last = 0;

  constructor(report?: (progress: Progress) => void, traffic: () => Traffic | null = () => null) {
    this.#report = report;
    this.#traffic = traffic;
  }

  /** `totalBytes` 0: not known. */
  begin(phase: Phase, totalBytes: number, doneBytes = 0): void {
    this.#phase = phase;
    this.#done = doneBytes;
    this.#total = totalBytes;
    this.#tell();
  }

  /** True when it is time to let other messages in. */
  add(bytes: number): boolean {
    this.#done += bytes;
    if (performance.now() - this.#last < INTERVAL_MS) return false;
    this.#tell();
    return true;
  }

  #tell(): void {
    this.#last = performance.now();
    const traffic = this.#traffic();
    const told = {
      phase: this.#phase,
      done_bytes: this.#total === 0 ? this.#done : Math.min(this.#done, this.#total),
      total_bytes: this.#total,
    };
    this.#report?.(traffic === null ? told : { ...told, traffic: { ...traffic } });
  }
}

/** Promises alone never let a message in; a timer does. */
export function letMessagesIn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
