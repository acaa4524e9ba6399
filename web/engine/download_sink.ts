// A download that the service worker feeds to the browser: the disk needs room for the file once, and the browser
// decides where it goes. It cannot be read back. The last chunk is held until commit, so a conversion that fails
// ends as a failed download; a watchdog notices when the service worker was ended under it (Firefox does that
// after 30 s without a ping, and lists the torn file as finished).
import type { DownloadRequest, FromDownload, Pong, ToDownload, ToPage, ToServiceWorker } from './download_protocol';
import { CoreError } from './errors';
import type { ByteSink } from './sink';

const CHUNK_BYTES = 1024 * 1024;
/** How many chunks may be on their way: the bound of what the service worker holds. */
const CREDITS = 3;
const PING_INTERVAL_MS = 5_000;
/** A service worker that says nothing for so long is gone. */
const SILENCE_MS_MAX = 20_000;

export class DownloadSink implements ByteSink {
  readonly #name: string;
  readonly #page: MessagePort;
  readonly #id = crypto.randomUUID();
  readonly #bytesPort: MessagePort;
  readonly #farPort: MessagePort;
  #credits = CREDITS;
  #filling = new Uint8Array(CHUNK_BYTES);
  #filledBytes = 0;
  #sentBytes = 0;
  #sizeBytes = 0;
  #ended = false;
  #failure: CoreError | null = null;
  #wake: () => void = () => {};
  #pinging: ReturnType<typeof setInterval> | undefined;
  #heardAt = 0;

  constructor(name: string, page: MessagePort) {
    const { port1, port2 } = new MessageChannel();
    this.#name = name;
    this.#page = page;
    this.#bytesPort = port1;
    this.#farPort = port2;
    port1.onmessage = ({ data }: MessageEvent<FromDownload>) => this.#hear(data);
  }

  async open(sizeBytes: number): Promise<void> {
    this.#sizeBytes = sizeBytes;
    const request: DownloadRequest = { id: this.#id, file_name: this.#name, size_bytes: sizeBytes };
    this.#forward({ kind: 'open', request }, this.#farPort);
    this.#heardAt = performance.now();
    this.#pinging = setInterval(() => this.#ping(), PING_INTERVAL_MS);
  }

  write(bytes: Uint8Array): void | Promise<void> {
    const taken = Math.min(bytes.length, CHUNK_BYTES - this.#filledBytes);
    this.#filling.set(bytes.subarray(0, taken), this.#filledBytes);
    this.#filledBytes += taken;
    if (taken === bytes.length) return;
    // There is more, so the full chunk is not the last one. The view dies when this returns.
    const rest = bytes.slice(taken);
    return this.#send().then(() => this.write(rest));
  }

  /** All but the last chunk is with the service worker. */
  async close(): Promise<void> {
    const bytes = this.#sentBytes + this.#filledBytes;
    if (bytes !== this.#sizeBytes) {
      throw new CoreError('write_failed', this.#name, `${bytes} bytes for a download of ${this.#sizeBytes}`);
    }
    this.#throwIfDead();
  }

  async commit(): Promise<void> {
    if (this.#filledBytes > 0) await this.#send();
    this.#tell({ kind: 'end' });
    await this.#until(() => this.#ended);
    this.#finish();
  }

  async abort(): Promise<void> {
    this.#tell({ kind: 'fail', reason: 'the conversion was stopped' });
    this.#finish();
  }

  async #send(): Promise<void> {
    await this.#until(() => this.#credits > 0);
    this.#credits -= 1;
    const { buffer } = this.#filling;
    const whole = this.#filledBytes === CHUNK_BYTES ? buffer : buffer.slice(0, this.#filledBytes);
    this.#sentBytes += this.#filledBytes;
    this.#filledBytes = 0;
    this.#tell({ kind: 'chunk', buffer: whole }, whole);
    this.#filling = new Uint8Array(CHUNK_BYTES);
  }

  async #until(holds: () => boolean): Promise<void> {
    for (this.#throwIfDead(); !holds(); this.#throwIfDead()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #hear(message: FromDownload): void {
    this.#heardAt = performance.now();
    if (message.kind === 'ready') this.#page.postMessage({ kind: 'fetch', url: message.url } satisfies ToPage);
    if (message.kind === 'took') this.#credits += 1;
    if (message.kind === 'ended') this.#ended = true;
    if (message.kind === 'cancelled') this.#die('the download was cancelled in the browser');
    this.#wake();
  }

  #ping(): void {
    if (performance.now() - this.#heardAt > SILENCE_MS_MAX) {
      this.#die('the browser stopped taking the download');
      return;
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }: MessageEvent<Pong>) => {
      port1.close();
      this.#heardAt = performance.now();
      if (!data.known) this.#die('the browser ended the download');
    };
    this.#forward({ kind: 'ping', id: this.#id }, port2);
  }

  #die(reason: string): void {
    if (this.#ended) return;
    const advice = 'what it has saved so far is not whole: delete it';
    this.#failure ??= new CoreError('download_lost', this.#name, `${reason}; ${advice}`);
    this.#wake();
  }

  #throwIfDead(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  #forward(message: ToServiceWorker, port: MessagePort): void {
    this.#page.postMessage({ kind: 'forward', message } satisfies ToPage, [port]);
  }

  #tell(message: ToDownload, ...transferred: Transferable[]): void {
    this.#bytesPort.postMessage(message, transferred);
  }

  #finish(): void {
    clearInterval(this.#pinging);
    this.#page.postMessage({ kind: 'over' } satisfies ToPage);
  }
}
