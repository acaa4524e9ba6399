// SHA-256 of a file that is read in pieces: the pieces may come twice or overlap, but there must be no hole before one.
import { sha256 } from '@noble/hashes/sha2.js';

export interface Sha256 {
  update(bytes: Uint8Array): void;
  /** lower-case hex */
  digest(): string;
}

/** The platform's own hash needs the whole file at once (browsers) or is Node's, which the command line hands in. */
export function scriptSha256(): Sha256 {
  const hash = sha256.create();
  return {
    update: (bytes) => void hash.update(bytes),
    digest: () => [...hash.digest()].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
  };
}

export class OrderedHash {
  readonly #hash: Sha256;
  #position = 0;
  #broken = false;

  constructor(hash: Sha256) {
    this.#hash = hash;
  }

  /** Everything before it is hashed. */
  get position(): number {
    return this.#position;
  }

  /** A piece came that leaves a hole before it: there will be no hash. */
  get broken(): boolean {
    return this.#broken;
  }

  add(begin: number, bytes: Uint8Array): void {
    if (this.#broken || begin + bytes.length <= this.#position) return;
    if (begin > this.#position) {
      this.#broken = true;
      return;
    }
    const fresh = bytes.subarray(this.#position - begin);
    this.#hash.update(fresh);
    this.#position += fresh.length;
  }

  digest(): string {
    return this.#hash.digest();
  }
}
