// How many requests are under way at once, over all sources. A stream that nobody reads from at the moment keeps its
// place only until somebody else needs it: it goes on later with a new request from where it stands.

/** Browsers and servers alike get slower, not faster, beyond this. */
export const IN_FLIGHT_MAX = 8;

export class Gate {
  /** the most at once so far */
  most = 0;
  #inside = 0;
  #free: number;
  readonly #waiting: (() => void)[] = [];
  /** who would give up a place, the longest idle first */
  readonly #idle = new Set<() => void>();

  constructor(places = IN_FLIGHT_MAX) {
    this.#free = places;
  }

  /** `isUrgent`: before all who wait already, since they will need what this brings. */
  async enter(isUrgent = false): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
    } else {
      const entered = new Promise<void>((resolve) => {
        if (isUrgent) this.#waiting.unshift(resolve);
        else this.#waiting.push(resolve);
      });
      this.#makeRoom();
      await entered;
    }
    this.#inside += 1;
    this.most = Math.max(this.most, this.#inside);
  }

  leave(): void {
    this.#inside -= 1;
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }

  /** `giveUp` must leave at once when it is called. */
  park(giveUp: () => void): void {
    this.#idle.add(giveUp);
    if (this.#waiting.length > 0) this.#makeRoom();
  }

  unpark(giveUp: () => void): void {
    this.#idle.delete(giveUp);
  }

  #makeRoom(): void {
    const [oldest] = this.#idle;
    if (oldest === undefined) return;
    this.#idle.delete(oldest);
    oldest();
  }
}
