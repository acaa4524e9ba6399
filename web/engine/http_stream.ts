// A run of bytes read front to back over one request, or over several: where a connection breaks or stalls, or where
// another source needed the place, the next request goes on with the very byte that is missing.
import { CoreError } from './errors';
import { type Exchange, isInterruption, lostError } from './http_client';
import type { RemoteFile } from './http_file';
import { ATTEMPTS_MAX } from './http_retry';

export class RangeStream {
  readonly end: number;
  readonly #file: RemoteFile;
  /** the next byte that read() gives */
  #position: number;
  #exchange: Exchange | null = null;
  /** arrived, not yet read */
  #piece: Uint8Array = new Uint8Array(0);
  #failures = 0;
  #closed = false;
  readonly #giveUp = (): void => this.#drop();

  constructor(file: RemoteFile, begin: number, end: number) {
    this.#file = file;
    this.#position = begin;
    this.end = end;
  }

  get position(): number {
    return this.#position;
  }

  /** Fills `into`. One read at a time. */
  async read(into: Uint8Array): Promise<void> {
    const { gate } = this.#file.client;
    gate.unpark(this.#giveUp);
    for (let at = 0; at < into.length; ) {
      if (this.#piece.length === 0) await this.#fetchPiece();
      const taken = this.#piece.subarray(0, into.length - at);
      into.set(taken, at);
      at += taken.length;
      this.#position += taken.length;
      this.#piece = this.#piece.subarray(taken.length);
    }
    if (this.#position === this.end || this.#closed) this.#drop();
    else if (this.#exchange !== null) gate.park(this.#giveUp);
  }

  /** A read that still runs ends with what it has or with the client's interrupt. */
  close(): void {
    this.#closed = true;
    this.#file.client.gate.unpark(this.#giveUp);
    this.#drop();
  }

  /** What has arrived stays; the next request begins behind it. */
  #drop(): void {
    this.#exchange?.cancel();
    this.#exchange = null;
  }

  async #fetchPiece(): Promise<void> {
    for (;;) {
      try {
        this.#exchange ??= await this.#file.open(this.#position, this.end);
        const piece = (await this.#exchange?.read()) ?? null;
        if (piece !== null) return this.#take(piece);
        this.#exchange = null;
        throw new CoreError('connection_lost', this.#file.name, 'the answer ended before its last byte');
      } catch (thrown) {
        this.#drop();
        if (!isInterruption(thrown)) throw thrown;
        this.#interrupted(thrown);
      }
      await this.#file.client.backOff(this.#failures - 1);
    }
  }

  #take(piece: Uint8Array): void {
    if (piece.length > 0) this.#failures = 0;
    if (piece.length > this.end - this.#position) {
      this.#drop();
      throw new CoreError('range_unsupported', this.#file.name, 'the server sent more bytes than it was asked for');
    }
    this.#piece = piece;
  }

  #interrupted(thrown: unknown): void {
    this.#failures += 1;
    if (this.#failures < ATTEMPTS_MAX) return;
    throw thrown instanceof CoreError ? thrown : lostError(this.#file.name, this.#failures, thrown);
  }
}
