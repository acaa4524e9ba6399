// Room on a disk, asked before anything is written to it.
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CoreError } from '../engine/errors';
import { formatSize } from '../engine/units';

/** A file system that cannot say is given the benefit of the doubt: the write itself will tell. */
export async function checkRoom(target: string, sizeBytes: number): Promise<void> {
  const system = await statfs(dirname(target)).catch(() => null);
  if (system === null) return;
  const freeBytes = system.bavail * system.bsize;
  if (sizeBytes <= freeBytes) return;
  const message = `the output needs ${formatSize(sizeBytes)} and ${formatSize(freeBytes)} are free`;
  throw new CoreError('no_space', target, message);
}
