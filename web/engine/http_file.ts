// One file on a server: where it is now, and what it must stay. The first answer says size and ETag; every later one
// has to say the same.
import { CoreError } from './errors';
import type { Exchange, HttpClient } from './http_client';
import { statusError } from './http_failures';
import { checkPartial, checkSame, type Identity, isEmptyFile } from './http_range';
import { isExpired } from './http_retry';

export interface FileAddress {
  name: string;
  url: string;
  /** where a person can accept a licence or see what is wrong */
  page?: string | null | undefined;
  /** the size that a listing stated */
  sizeBytes?: number | undefined;
  /** hex, where somebody stated it: the Hub does for files in LFS */
  sha256?: string | null | undefined;
}

export class RemoteFile {
  readonly address: FileAddress;
  readonly client: HttpClient;
  /** where the redirects of the last good answer led: a signed URL that expires one day */
  #direct: string | null = null;
  #identity: Identity | null = null;

  constructor(client: HttpClient, address: FileAddress) {
    this.client = client;
    this.address = address;
  }

  get name(): string {
    return this.address.name;
  }

  /** Known after the first answer. */
  get identity(): Identity {
    if (this.#identity === null) throw new CoreError('wrong_state', this.name, 'nothing was read yet');
    return this.#identity;
  }

  /** An answer that holds exactly [begin, end), checked; its body is still to be read. Null: the file is empty. */
  async open(begin: number, end: number): Promise<Exchange | null> {
    const exchange = await this.#ask(begin, end);
    try {
      if (begin === 0 && isEmptyFile(exchange)) {
        this.#take({ etag: null, total: 0 });
        exchange.cancel();
        return null;
      }
      if (exchange.status >= 400 && exchange.status !== 416) {
        throw statusError(this.name, exchange, this.address.page ?? null, this.client.hasToken);
      }
      // 200: the whole file is on its way, which nobody asked for
      this.#take(checkPartial(this.name, exchange, begin, end));
      if (exchange.url !== '') this.#direct = exchange.url;
      return exchange;
    } catch (thrown) {
      exchange.cancel();
      throw thrown;
    }
  }

  /** Where the last answer came from, as long as that works; the address itself when it does not any more. */
  async #ask(begin: number, end: number): Promise<Exchange> {
    const direct = this.#direct;
    if (direct !== null && direct !== this.address.url) {
      const exchange = await this.client.get(this.name, direct, { begin, end });
      if (!isExpired(exchange.status)) return exchange;
      exchange.cancel();
      this.#direct = null;
    }
    return this.client.get(this.name, this.address.url, { begin, end });
  }

  #take(identity: Identity): void {
    const { sizeBytes } = this.address;
    if (this.#identity === null && sizeBytes !== undefined && sizeBytes !== identity.total) {
      const text = `the listing says ${sizeBytes} bytes, the server ${identity.total}`;
      throw new CoreError('source_changed', this.name, text);
    }
    if (this.#identity !== null) checkSame(this.name, this.#identity, identity);
    this.#identity ??= identity;
  }
}
