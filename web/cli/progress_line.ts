// Progress on standard error: one line that is written over on a terminal, a line per second elsewhere.
import type { Phase, Progress } from '../engine/protocol';
import { formatDecimal } from '../engine/units';

const LABELS: Record<Phase, string> = {
  header: 'reading the header',
  scan: 'reading the scales',
  recheck: 'checking what is there already',
  convert: 'converting',
  verify: 'verifying',
  closing: 'waiting for the disk',
};

export class ProgressLine {
  readonly #terminal = process.stderr.isTTY === true;
  #phase: Phase | null = null;
  #phaseBegan = 0;
  #lastLine = 0;
  #width = 0;

  /** Null unless someone is there to see it. */
  static wanted(asked: boolean): ProgressLine | null {
    return asked || process.stderr.isTTY === true ? new ProgressLine() : null;
  }

  show(progress: Progress): void {
    const now = performance.now();
    const fresh = progress.phase !== this.#phase;
    if (fresh) {
      this.#phase = progress.phase;
      this.#phaseBegan = now;
    }
    if (!this.#terminal && !fresh && now - this.#lastLine < 1000) return;
    this.#lastLine = now;
    this.#write(describe(progress, (now - this.#phaseBegan) / 1000));
  }

  /** Leaves the terminal's line empty for what is printed next. */
  clear(): void {
    if (this.#terminal && this.#width > 0) process.stderr.write(`\r${' '.repeat(this.#width)}\r`);
    this.#width = 0;
  }

  #write(text: string): void {
    if (!this.#terminal) {
      process.stderr.write(`${text}\n`);
      return;
    }
    process.stderr.write(`\r${text.padEnd(this.#width)}`);
    this.#width = text.length;
  }
}

export function describe({ phase, done_bytes, total_bytes }: Progress, seconds: number): string {
  const label = LABELS[phase];
  if (total_bytes === 0) return done_bytes === 0 ? label : `${label}: ${formatDecimal(done_bytes)}`;
  const share = Math.floor((100 * done_bytes) / total_bytes);
  const amount = `${label}: ${share} %, ${formatDecimal(done_bytes)} of ${formatDecimal(total_bytes)}`;
  if (seconds < 1 || done_bytes === 0) return amount;
  const rate = done_bytes / seconds;
  return `${amount}, ${formatDecimal(rate)}/s, ${duration((total_bytes - done_bytes) / rate)} left`;
}

export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
