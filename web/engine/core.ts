// The Embind surface of src/wasm/bindings.cpp, as types. The core does no I/O: a job is pumped by
// asking for the next read, feeding its bytes, and taking output when there is some.

/** What the core wants after begin, feed or resume. */
export enum Step {
  /** feed the next window (in the order nextRead gave them) */
  NeedInput = 0,
  /** outLength bytes stand at outPtr: write them, then resume */
  HasOutput = 1,
  Done = 2,
  /** reply holds {"error": ...} */
  Failed = 3,
}

export enum Job {
  Inspect = 0,
  /** all scales, and what fp16 could overflow; needs options, comes before plan */
  Scan = 1,
  /** needs a plan without open decisions */
  Convert = 2,
  /** reads the output back; its source index is OUTPUT_SOURCE */
  Verify = 3,
  /** needs options and setPreview */
  Preview = 4,
  /** reads back what an interrupted conversion wrote; needs resumeAt */
  Recheck = 5,
}

/** readSource of a verify or recheck window. */
export const OUTPUT_SOURCE = -1;

/** status of the calls that reply with JSON */
export enum Status {
  Ok = 0,
  Error = 1,
  /** the reply is {"decisions": [...]} */
  Decisions = 2,
}

/** Pointers are byte offsets into the heap and die with the next call that may grow memory. */
export interface CoreSession {
  addSource(name: string, sizeBytes: number): Status;
  /** the sources are far away: long scales are read when a conversion is planned, not before */
  readSparingly(): Status;
  /** a side file (config.json, ...) whose bytes stand at inPtr */
  addSideFile(name: string, lengthBytes: number): Status;
  /** the index of a set, whose bytes stand at inPtr; whole: the sources are the set. Replies {"files": [...]} */
  addIndex(name: string, lengthBytes: number, whole: boolean): Status;
  /** JSON of ConvertOptions */
  setOptions(json: string): Status;
  /** what the next Job.Preview is about */
  setPreview(tensor: string, code: string): Status;

  begin(job: Job): Step;
  /** true: readSource, readBegin, readEnd hold the next window. May be called ahead of feed. */
  nextRead(): boolean;
  readSource(): number;
  readBegin(): number;
  readEnd(): number;
  /** where the next window's bytes go; capacity lengthBytes, 0 when out of memory */
  inPtr(lengthBytes: number): number;
  feed(lengthBytes: number): Step;
  outPtr(): number;
  outLength(): number;
  resume(): Step;

  report(): Status;
  tensors(first: number, count: number): Status;
  pairs(first: number, count: number): Status;
  /** JSON of a RamRequest; needs nothing that is open */
  ram(request: string): Status;
  plan(): Status;
  preview(): Status;
  receipt(): Status;
  /** of a plan of copies only: [[file, source, begin, end], ...] */
  copies(first: number, count: number): Status;
  /** the reply is a file's header, raw bytes */
  outputHeader(file: number): Status;
  /** the host has carried out a plan of copies itself */
  copied(verified: boolean): Status;
  /** during Job.Convert: the point after the last whole tensor that was handed out, with what was met since `firstStep` */
  mark(firstStep: number): Status;
  /** Job.Recheck and then Job.Convert go on from a mark of an earlier run */
  resumeAt(mark: string): Status;
  /** the reply is the text of the output's index */
  outputIndex(): Status;
  replyPtr(): number;
  replyLength(): number;

  delete(): void;
}

export interface CoreModule {
  HEAPU8: Uint8Array;
  Session: new () => CoreSession;
}

export type CoreFactory = (overrides: { wasmBinary: Uint8Array | ArrayBuffer }) => Promise<CoreModule>;
