// A plan of nothing but copies (joining and cutting files), carried out beside the core: headers come from it,
// the tensors go from source to sink without passing through the wasm heap.
import { CoreError } from './errors';
import type { Session } from './heap';
import { letMessagesIn, type ProgressMeter } from './progress';
import type { ByteSink } from './sink';
import type { ByteSource } from './source';

const PAGE_ROWS = 5000;
const WINDOW_BYTES = 1024 * 1024;
/** What is handed over as one slice of a file; between two, a user can stop. */
const SLICE_BYTES = 64 * 1024 * 1024;

/** A piece of the output, in order: a header, or bytes of a source that stand together. */
type Piece = { kind: 'header'; bytes: Uint8Array } | { kind: 'copy'; source: ByteSource; begin: number; end: number };

export interface CopyHooks {
  meter: ProgressMeter;
  throwIfCancelled: () => void;
  /** so much of the output was handed to the sink */
  onWritten?: (writtenBytes: number) => void;
}

/** `keptBytes` of the output are there already. Returns how many there are in the end. */
export async function copyPieces(
  session: Session,
  fileCount: number,
  sources: readonly ByteSource[],
  sink: ByteSink,
  hooks: CopyHooks,
  keptBytes = 0,
): Promise<number> {
  let position = 0;
  for (const piece of pieces(session, fileCount, sources)) {
    hooks.throwIfCancelled();
    const length = piece.kind === 'header' ? piece.bytes.length : piece.end - piece.begin;
    const kept = Math.min(length, Math.max(0, keptBytes - position));
    if (kept === length) {
      position += length;
      continue;
    }
    position += kept;
    if (piece.kind === 'header') {
      await sink.write(piece.bytes.subarray(kept));
      position += length - kept;
    } else {
      const onCopied = (bytes: number): void => {
        position += bytes;
        hooks.onWritten?.(position);
      };
      await copy(piece.source, piece.begin + kept, piece.end, sink, hooks, onCopied);
    }
  }
  return position;
}

/** Reads the output back and holds it against the headers and the sources, byte by byte. */
export async function verifyPieces(
  session: Session,
  fileCount: number,
  sources: readonly ByteSource[],
  output: ByteSource,
  hooks: CopyHooks,
): Promise<void> {
  let position = 0;
  for (const piece of pieces(session, fileCount, sources)) {
    const length = piece.kind === 'header' ? piece.bytes.length : piece.end - piece.begin;
    for (let at = 0; at < length; at += WINDOW_BYTES) {
      hooks.throwIfCancelled();
      const until = Math.min(length, at + WINDOW_BYTES);
      const written = await output.read(position + at, position + until);
      if (piece.kind === 'header') {
        checkSame(written, piece.bytes.subarray(at, until), position + at);
      } else {
        const wanted = await piece.source.read(piece.begin + at, piece.begin + until);
        checkSame(written, wanted, position + at);
        piece.source.release(wanted);
      }
      output.release(written);
      if (hooks.meter.add(until - at)) await letMessagesIn();
    }
    position += length;
  }
}

/** Neighbours that stay neighbours are one piece. */
function* pieces(session: Session, fileCount: number, sources: readonly ByteSource[]): Generator<Piece> {
  let file = -1;
  let run: [source: number, begin: number, end: number] | null = null;
  for (let first = 0; ; first += PAGE_ROWS) {
    const rows = session.copies(first, PAGE_ROWS);
    for (const [rowFile, source, begin, end] of rows) {
      const goesOn: boolean = run !== null && rowFile === file && run[0] === source && run[2] === begin;
      if (run !== null && goesOn) {
        run[2] = end;
        continue;
      }
      yield* asPiece(run, sources);
      while (file < rowFile) yield { kind: 'header', bytes: session.outputHeader(++file) };
      run = [source, begin, end];
    }
    if (rows.length < PAGE_ROWS) break;
  }
  yield* asPiece(run, sources);
  while (file < fileCount - 1) yield { kind: 'header', bytes: session.outputHeader(++file) };
}

function asPiece(run: [source: number, begin: number, end: number] | null, sources: readonly ByteSource[]): Piece[] {
  const source = run === null ? undefined : sources[run[0]];
  if (run === null || source === undefined || run[1] === run[2]) return [];
  return [{ kind: 'copy', source, begin: run[1], end: run[2] }];
}

/** Slices of files where both sides know them, else windows, the next one read while this one is written. */
async function copy(
  source: ByteSource,
  begin: number,
  end: number,
  sink: ByteSink,
  hooks: CopyHooks,
  onCopied: (bytes: number) => void,
): Promise<void> {
  const { meter, throwIfCancelled } = hooks;
  if (source.slice !== undefined && sink.append !== undefined) {
    for (let at = begin; at < end; at += SLICE_BYTES) {
      throwIfCancelled();
      const until = Math.min(end, at + SLICE_BYTES);
      await sink.append(source.slice(at, until));
      onCopied(until - at);
      if (meter.add(until - at)) await letMessagesIn();
    }
    return;
  }
  const readAt = (at: number): Promise<Uint8Array> | null => {
    if (at >= end) return null;
    const reading = source.read(at, Math.min(end, at + WINDOW_BYTES));
    reading.catch(() => {}); // awaited in its turn; until then a failure must not count as unhandled
    return reading;
  };
  let reading = readAt(begin);
  for (let at = begin; reading !== null; at += WINDOW_BYTES) {
    throwIfCancelled();
    const bytes = await reading;
    reading = readAt(at + WINDOW_BYTES);
    await sink.write(bytes);
    const length = bytes.length;
    source.release(bytes);
    onCopied(length);
    if (meter.add(length)) await letMessagesIn();
  }
}

function checkSame(written: Uint8Array, wanted: Uint8Array, position: number): void {
  const at = written.length === wanted.length ? firstDifference(written, wanted) : 0;
  if (at < 0) return;
  throw new CoreError(
    'verify_failed',
    '',
    `byte ${position + at} of the output is not that of the input; the file is not to be trusted`,
  );
}

/** Word by word where both stand well, which they mostly do. */
function firstDifference(a: Uint8Array, b: Uint8Array): number {
  let from = 0;
  if (a.byteOffset % 4 === 0 && b.byteOffset % 4 === 0) {
    const words = a.length >> 2;
    const x = new Uint32Array(a.buffer, a.byteOffset, words);
    const y = new Uint32Array(b.buffer, b.byteOffset, words);
    let word = 0;
    while (word < words && x[word] === y[word]) word += 1;
    from = word * 4;
  }
  for (let at = from; at < a.length; at += 1) if (a[at] !== b[at]) return at;
  return -1;
}
