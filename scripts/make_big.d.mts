// Types of make_big.mjs for the tests that are TypeScript.
export interface BigOptions {
  gib: number;
  sparse?: boolean;
  lostScale?: boolean;
}
export function makeBig(path: string, options: BigOptions): { size_bytes: number; layers: number };
