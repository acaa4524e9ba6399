// What the test server serves: bytes at hand, a file on disk, or bytes computed when they are asked for.
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';

const PIECE_BYTES = 256 * 1024;

/** Bytes at hand; the hash is what the Hub would state for the file. */
export function bytesContent(bytes) {
  const buffer = Buffer.from(bytes);
  return {
    size: buffer.length,
    sha256: createHash('sha256').update(buffer).digest('hex'),
    async *pieces(begin, end) {
      for (let at = begin; at < end; at += PIECE_BYTES) yield buffer.subarray(at, Math.min(end, at + PIECE_BYTES));
    },
  };
}

/** A file on disk, sparse or not. `sha256` only if somebody has computed it: hashing 4 GiB takes a while. */
export function fileContent(path, sha256 = null) {
  return {
    size: statSync(path).size,
    sha256,
    async *pieces(begin, end) {
      const file = await open(path, 'r');
      try {
        for (let at = begin; at < end; at += PIECE_BYTES) {
          const piece = Buffer.alloc(Math.min(PIECE_BYTES, end - at));
          const { bytesRead } = await file.read(piece, 0, piece.length, at);
          if (bytesRead !== piece.length) throw new Error(`${path} is shorter than it was`);
          yield piece;
        }
      } finally {
        await file.close();
      }
    },
  };
}

/** A header that is there and data that is all zeros and nowhere: a 4 GiB shard costs its header. */
export function sparseContent(header, size) {
  const head = Buffer.from(header);
  const zeros = Buffer.alloc(PIECE_BYTES);
  return {
    size,
    sha256: null,
    async *pieces(begin, end) {
      for (let at = begin; at < end; ) {
        const until = Math.min(end, at + PIECE_BYTES, at < head.length ? head.length : end);
        yield at < head.length ? head.subarray(at, until) : zeros.subarray(0, until - at);
        at = until;
      }
    },
  };
}
