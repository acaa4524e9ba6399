// The temporary name of an output and the journal beside it: OUT.PID.partial and OUT.PID.partial.journal. What an
// ended process left under such names is taken over by renaming it, which only one process can do.
import { appendFile, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CoreError } from '../engine/errors';

const JOURNAL_SUFFIX = '.journal';
const TRIES_MAX = 100;

interface Left {
  path: string;
  changedMs: number;
  pid: number;
}

export class Partial {
  readonly #target: string;
  #path: string;
  #left: Left | null = null;

  private constructor(target: string, path: string) {
    this.#target = target;
    this.#path = path;
  }

  static beside(target: string): Partial {
    return new Partial(target, `${target}.${process.pid}.partial`);
  }

  /** In a folder that is itself partial nothing needs another name. */
  static inside(target: string): Partial {
    return new Partial(target, target);
  }

  get path(): string {
    return this.#path;
  }

  /** Runs `make` with a path that is free: a container gives its processes the same few numbers again and again. */
  async claim(make: (path: string) => void | Promise<void>): Promise<void> {
    if (this.#left !== null) await removeBoth(this.#left.path); // nothing in it was of use
    const first = this.#path;
    for (let tries = 1; ; ++tries) {
      try {
        await make(this.#path);
        return;
      } catch (thrown) {
        if ((thrown as { code?: unknown }).code !== 'EEXIST' || tries === TRIES_MAX) throw thrown;
        this.#path = first.replace(/\.partial$/, `-${tries + 1}.partial`);
      }
    }
  }

  /** The journal of the newest output that an ended process left here; null: there is none. Errc: resume_refused. */
  async readLeft(): Promise<string | null> {
    const all = await this.#leftOnes();
    this.#left = all.find(({ pid }) => !isAlive(pid)) ?? null;
    if (this.#left !== null) return readFile(this.#left.path + JOURNAL_SUFFIX, 'utf8');
    const [busy] = all;
    if (busy === undefined) return null;
    throw new CoreError('resume_refused', busy.path, `process ${busy.pid} may still be writing it; end that first`);
  }

  /** From now on this process's own. */
  async takeOver(): Promise<void> {
    if (this.#path === this.#target) return;
    if (this.#left === null) throw new CoreError('wrong_state', this.#target, 'there is nothing to take over');
    const { path } = this.#left;
    if (path === this.#path) return;
    await rename(path, this.#path);
    await rename(path + JOURNAL_SUFFIX, this.#path + JOURNAL_SUFFIX);
  }

  /** The output is whole: it gets its name. An empty folder of that name is replaced. */
  async finish(): Promise<void> {
    if (this.#path === this.#target) return;
    await rename(this.#path, this.#target);
    await rm(this.#path + JOURNAL_SUFFIX, { force: true });
  }

  async note(line: string): Promise<void> {
    await appendFile(this.#path + JOURNAL_SUFFIX, line, { flush: true });
  }

  async remove(): Promise<void> {
    await removeBoth(this.#path).catch(() => {});
  }

  /** With a journal, the newest first. */
  async #leftOnes(): Promise<Left[]> {
    const folder = dirname(this.#target);
    const prefix = `${basename(this.#target)}.`;
    const found: Left[] = [];
    for (const name of await readdir(folder)) {
      if (!name.startsWith(prefix)) continue;
      const [, pid] = /^(\d+)(?:-\d+)?\.partial\.journal$/.exec(name.slice(prefix.length)) ?? [];
      if (pid === undefined) continue;
      const path = join(folder, name.slice(0, -JOURNAL_SUFFIX.length));
      const journal = await stat(path + JOURNAL_SUFFIX).catch(() => null);
      const output = await stat(path).catch(() => null);
      if (journal && output) found.push({ path, changedMs: journal.mtimeMs, pid: Number(pid) });
    }
    return found.sort((a, b) => b.changedMs - a.changedMs);
  }
}

async function removeBoth(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await rm(path + JOURNAL_SUFFIX, { force: true });
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as { code?: unknown }).code === 'EPERM';
  }
}
