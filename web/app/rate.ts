// How fast a job goes and how long it will take, from the last half minute of its progress. Time is
// handed in, so this can be tested.
import type { Phase, Progress } from '../engine/protocol';

const WINDOW_MS = 30_000;
/** Before this nobody can tell how long it will take. */
const ESTIMATE_AFTER_MS = 2_000;

export interface Pace {
  bytes_per_second: number | null;
  seconds_left: number | null;
}

export class PaceMeter {
  #phase: Phase | null = null;
  #samples: { at: number; bytes: number }[] = [];

  add({ phase, done_bytes, total_bytes }: Progress, now: number): Pace {
    if (phase !== this.#phase) this.#samples = [];
    this.#phase = phase;
    this.#samples.push({ at: now, bytes: done_bytes });
    while ((this.#samples[0]?.at ?? now) < now - WINDOW_MS) this.#samples.shift();
    const first = this.#samples[0];
    if (!first || now - first.at < ESTIMATE_AFTER_MS || done_bytes <= first.bytes) {
      return { bytes_per_second: null, seconds_left: null };
    }
    const rate = ((done_bytes - first.bytes) / (now - first.at)) * 1000;
    return { bytes_per_second: rate, seconds_left: total_bytes > 0 ? (total_bytes - done_bytes) / rate : null };
  }
}
