// What a ranged answer must say before a byte of it is believed: 206, the very range that was asked for, and
// the same file as every answer before.
import { CoreError } from './errors';

/** Bytes [begin, end) of `total`. */
export interface Extent {
  begin: number;
  end: number;
  total: number;
}

/** What tells one state of a file from another. */
export interface Identity {
  /** null: the server states none, or does not let pages see it */
  etag: string | null;
  total: number;
}

/** What is looked at of a Response. */
export interface Answer {
  status: number;
  headers: { get(name: string): string | null };
}

/** A single range with a start needs no preflight (browser-io.md section 5). */
export function rangeHeader(begin: number, end: number): string {
  return `bytes=${begin}-${end - 1}`;
}

/** "bytes 0-99/1000"; null for anything else, an unknown total ("*") included. */
export function parseContentRange(text: string | null): Extent | null {
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(text?.trim() ?? '');
  if (!match) return null;
  const [begin, last, total] = match.slice(1).map(Number) as [number, number, number];
  if (last < begin || last >= total || !Number.isSafeInteger(total)) return null;
  return { begin, end: last + 1, total };
}

/** "bytes *\/0": how a server says that a file has no bytes to give a range of. */
export function isEmptyFile({ status, headers }: Answer): boolean {
  return status === 416 && headers.get('content-range')?.trim() === 'bytes */0';
}

/** The identity in a 206 that holds exactly the bytes [begin, end), or up to the file's end if that comes before. */
export function checkPartial(name: string, answer: Answer, begin: number, end: number): Identity {
  const { status, headers } = answer;
  if (status === 416) {
    throw new CoreError('source_changed', name, `the server says that there are no bytes ${begin} to ${end - 1}`);
  }
  if (status !== 206) throw unsupported(name, `it answered ${status} to a request for bytes ${begin} to ${end - 1}`);
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding !== 'identity') {
    throw unsupported(name, `it sends the range compressed (${encoding}), so that its offsets mean nothing`);
  }
  const given = headers.get('content-range');
  if (given === null) throw unsupported(name, 'its answer has no Content-Range, or it does not let web pages see it');
  const extent = parseContentRange(given);
  if (extent === null || extent.begin !== begin || extent.end !== Math.min(end, extent.total)) {
    throw unsupported(name, `it was asked for bytes ${begin} to ${end - 1} and sent "${given}"`);
  }
  return { etag: strongEtag(headers.get('etag')), total: extent.total };
}

/** Every answer must be about the file that the first one was about. */
export function checkSame(name: string, known: Identity, now: Identity): void {
  if (known.total !== now.total) {
    throw new CoreError('source_changed', name, `the file had ${known.total} bytes and now has ${now.total}`);
  }
  if (known.etag !== null && now.etag !== null && known.etag !== now.etag) {
    throw new CoreError('source_changed', name, `the file's ETag was ${known.etag} and is now ${now.etag}`);
  }
}

/** A weak ETag promises nothing about bytes. */
export function strongEtag(etag: string | null): string | null {
  return etag === null || etag.startsWith('W/') ? null : etag;
}

function unsupported(name: string, reason: string): CoreError {
  return new CoreError('range_unsupported', name, `the server does not give parts of a file: ${reason}`);
}
