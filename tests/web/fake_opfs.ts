// An origin-private file system in memory, with the few calls that the sinks use.
import { vi } from 'vitest';

export interface FakeDisk {
  files: Map<string, Uint8Array>;
  /** truncate and write fail beyond this */
  roomBytes: number;
  /** how a full disk shows itself */
  full: 'quota' | 'firefox' | 'short write';
  movable: boolean;
  open: Set<string>;
}

export function fakeDisk(settings: Partial<FakeDisk> = {}): FakeDisk {
  return {
    files: new Map(),
    roomBytes: Number.POSITIVE_INFINITY,
    full: 'quota',
    movable: true,
    open: new Set(),
    ...settings,
  };
}

export function installOpfs(disk: FakeDisk): void {
  vi.stubGlobal('navigator', { storage: { getDirectory: async () => directory(disk) } });
}

function directory(disk: FakeDisk) {
  return {
    async getFileHandle(name: string, options?: { create?: boolean }) {
      if (!disk.files.has(name)) {
        if (!options?.create) throw new DOMException('no such entry', 'NotFoundError');
        disk.files.set(name, new Uint8Array());
      }
      return fileHandle(disk, name);
    },
    async removeEntry(name: string) {
      if (disk.open.has(name)) throw new DOMException('in use', 'NoModificationAllowedError');
      if (!disk.files.delete(name)) throw new DOMException('no such entry', 'NotFoundError');
    },
  };
}

function fileHandle(disk: FakeDisk, name: string) {
  const move = async (to: string): Promise<void> => {
    if (disk.open.has(name)) throw new DOMException('in use', 'NoModificationAllowedError');
    disk.files.set(to, disk.files.get(name) ?? new Uint8Array());
    disk.files.delete(name);
  };
  return {
    name,
    ...(disk.movable ? { move } : {}),
    async createSyncAccessHandle() {
      if (disk.open.has(name)) throw new DOMException('in use', 'NoModificationAllowedError');
      disk.open.add(name);
      return syncHandle(disk, name);
    },
    getFile: async () => new File([Uint8Array.from(disk.files.get(name) ?? [])], name),
  };
}

function syncHandle(disk: FakeDisk, name: string) {
  const content = (): Uint8Array => disk.files.get(name) ?? new Uint8Array();
  const resize = (size: number): void => {
    const resized = new Uint8Array(size);
    resized.set(content().subarray(0, size));
    disk.files.set(name, resized);
  };
  return {
    truncate(size: number) {
      if (size > disk.roomBytes && disk.full !== 'short write') throw fullDisk(disk.full);
      resize(Math.min(size, 1 << 20));
    },
    write(bytes: Uint8Array, { at }: { at: number }) {
      if (at + bytes.length > disk.roomBytes) {
        if (disk.full === 'short write') return -8;
        throw fullDisk(disk.full);
      }
      if (at + bytes.length > content().length) resize(at + bytes.length);
      content().set(bytes, at);
      return bytes.length;
    },
    read(into: Uint8Array, { at }: { at: number }) {
      const found = content().subarray(at, at + into.length);
      into.set(found);
      return found.length;
    },
    getSize: () => content().length,
    flush() {},
    close() {
      disk.open.delete(name);
    },
  };
}

function fullDisk(full: FakeDisk['full']): Error {
  if (full === 'quota') return new DOMException('full', 'QuotaExceededError');
  return Object.assign(new Error('no space'), { name: 'NS_ERROR_FILE_NO_DEVICE_SPACE' });
}
