// Types of hub_server.mjs for the tests that are TypeScript.
export interface Content {
  size: number;
  sha256: string | null;
  pieces(begin: number, end: number): AsyncGenerator<Uint8Array>;
}
export type Given = Uint8Array | Content;

export function bytesContent(bytes: Uint8Array): Content;
export function fileContent(path: string, sha256?: string | null): Content;
export function sparseContent(header: Uint8Array, size: number): Content;

export interface RepoOptions {
  gated?: false | 'auto' | 'manual';
  isPrivate?: boolean;
  token?: string | null;
  sha?: string;
  revisions?: Record<string, string>;
}

export interface Repo {
  name: string;
  sha: string;
  files: Map<string, { path: string; content: Content; etag: string }>;
}

export interface Fault {
  at?: 'hub' | 'cdn';
  path?: string;
  times?: number;
  skip?: number;
  kind:
    | 'status'
    | 'drop'
    | 'reset'
    | 'short'
    | 'stall'
    | 'silence'
    | 'slow'
    | 'wrong_range'
    | 'ok200'
    | 'gzip'
    | 'gzip200'
    | 'no_cors'
    | 'etag'
    | 'total';
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  afterBytes?: number;
  bytesPerMs?: number;
  etag?: string;
  size?: number;
}

export interface LogRow {
  origin: 'hub' | 'cdn';
  method: string;
  path: string;
  range: string | null;
  search: string;
  status: number;
  bytes: number;
  authorization: string | null;
}

export interface Counts {
  hub: number;
  resolve: number;
  cdn: number;
  preflights: number;
  bytes: number;
  cdnBytes: number;
}

export interface TestHub {
  url: string;
  cdnUrl: string;
  log: LogRow[];
  mostInFlight: number;
  latencyMs: number;
  faults: Fault[];
  addRepo(name: string, files: Record<string, Given>, options?: RepoOptions): Repo;
  place(path: string, given: Given, options?: { cors?: boolean }): string;
  expireUrls(): void;
  fault(rule: Fault): void;
  counts(part?: string): Counts;
  forget(): void;
  close(): Promise<void>;
}

export function startHub(options?: { latencyMs?: number; pageSize?: number; urlSeconds?: number }): Promise<TestHub>;
