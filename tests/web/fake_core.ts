// A core made of a script, for tests of everything around it: it hands out the windows it was given
// and echoes what it is fed. Conversions write a header first, like the real one.
import { type CoreModule, type CoreSession, Job, Status, Step } from '../../web/engine/core';
import type { ErrorCode } from '../../web/engine/errors';
import { Core } from '../../web/engine/heap';

export interface FakeWindow {
  source?: number;
  begin: number;
  end: number;
}

export interface FakeScript {
  windows?: Partial<Record<Job, FakeWindow[]>>;
  /** bytes written before the first window of a conversion */
  outputHeader?: Uint8Array;
  /** nextRead answers false until everything handed out so far was fed, after so many windows */
  knownAtOnce?: number;
  /** feeding this window of this job fails */
  failure?: { job: Job; window: number; code: ErrorCode };
  /** feeding this window of this job traps */
  trap?: { job: Job; window: number };
  planReply?: { status: Status; value: unknown };
  report?: object;
  outputBytes?: number;
  /** inPtr answers 0 */
  outOfMemory?: boolean;
  /** every inPtr moves the heap, as memory that grows does */
  growing?: boolean;
}

const IN_AT = 64;
const OUT_AT = 256 * 1024;
const REPLY_AT = 512 * 1024;
const HEAP_BYTES = 1024 * 1024;
const utf8 = new TextEncoder();

export class FakeModule implements CoreModule {
  HEAPU8 = new Uint8Array(HEAP_BYTES);
  readonly calls: string[] = [];
  liveSessions = 0;
  readonly Session: new () => CoreSession;

  constructor(readonly script: FakeScript) {
    const module = this;
    this.Session = class extends FakeSession {
      constructor() {
        super(module);
      }
    };
  }

  get core(): Core {
    return new Core(this);
  }

  /** The old view goes dead, as it does in a browser. */
  grow(): void {
    const grown = new Uint8Array(HEAP_BYTES);
    grown.set(this.HEAPU8);
    structuredClone(this.HEAPU8.buffer, { transfer: [this.HEAPU8.buffer] });
    this.HEAPU8 = grown;
  }
}

class FakeSession implements CoreSession {
  #job: Job = Job.Inspect;
  #handedOut = 0;
  #fed = 0;
  #outputs: Uint8Array[] = [];
  #window: FakeWindow = { begin: 0, end: 0 };
  #replyLength = 0;

  constructor(private readonly module: FakeModule) {
    module.liveSessions += 1;
  }

  addSource(name: string, sizeBytes: number): Status {
    return this.#called(`addSource ${name} ${sizeBytes}`);
  }

  readSparingly(): Status {
    return this.#called('readSparingly');
  }

  addIndex(name: string, lengthBytes: number, whole: boolean): Status {
    const text = new TextDecoder().decode(this.module.HEAPU8.subarray(IN_AT, IN_AT + lengthBytes));
    const files = Object.values((JSON.parse(text) as { weight_map: Record<string, string> }).weight_map);
    this.#called(`addIndex ${name} ${whole ? 'whole' : 'part'}`);
    return this.#reply({ files });
  }

  addSideFile(name: string, lengthBytes: number): Status {
    const text = new TextDecoder().decode(this.module.HEAPU8.subarray(IN_AT, IN_AT + lengthBytes));
    return this.#called(`addSideFile ${name} ${text}`);
  }

  mark(firstStep: number): Status {
    this.#called(`mark ${firstStep}`);
    return this.#reply({ step: 0, bytes: 0, xxh64: '', outcomes: [] });
  }

  resumeAt(mark: string): Status {
    return this.#called(`resumeAt ${mark}`);
  }

  setOptions(json: string): Status {
    return this.#called(`setOptions ${json}`);
  }

  ram(request: string): Status {
    this.#called('ram');
    return this.#reply({ asked: JSON.parse(request) });
  }

  begin(job: Job): Step {
    this.#job = job;
    this.#handedOut = 0;
    this.#fed = 0;
    this.#called(`begin ${Job[job]}`);
    const header = this.module.script.outputHeader;
    this.#outputs = job === Job.Convert && header ? [header] : [];
    return this.#step();
  }

  nextRead(): boolean {
    const window = this.#windows()[this.#handedOut];
    const atOnce = this.module.script.knownAtOnce ?? Number.POSITIVE_INFINITY;
    if (window === undefined || this.#handedOut - this.#fed >= atOnce) return false;
    this.#window = window;
    this.#handedOut += 1;
    this.#called(`read ${window.begin}-${window.end}`);
    return true;
  }

  readSource(): number {
    return this.#window.source ?? 0;
  }

  readBegin(): number {
    return this.#window.begin;
  }

  readEnd(): number {
    return this.#window.end;
  }

  inPtr(): number {
    if (this.module.script.outOfMemory) return 0;
    if (this.module.script.growing) this.module.grow();
    return IN_AT;
  }

  feed(lengthBytes: number): Step {
    const { failure, trap } = this.module.script;
    this.#called(`feed ${lengthBytes}`);
    if (trap?.job === this.#job && trap.window === this.#fed) throw new WebAssembly.RuntimeError('unreachable');
    if (failure?.job === this.#job && failure.window === this.#fed) {
      this.#reply({ error: { code: failure.code, where: 'w', message: 'as scripted' } });
      return Step.Failed;
    }
    this.#fed += 1;
    if (this.#job === Job.Convert) this.#outputs.push(this.module.HEAPU8.slice(IN_AT, IN_AT + lengthBytes));
    return this.#step();
  }

  outPtr(): number {
    this.module.HEAPU8.set(this.#outputs[0] ?? [], OUT_AT);
    return OUT_AT;
  }

  outLength(): number {
    return this.#outputs[0]?.length ?? 0;
  }

  resume(): Step {
    // What the sink did not copy or write by now is gone.
    this.module.HEAPU8.fill(0xee, OUT_AT, OUT_AT + this.outLength());
    this.#outputs.shift();
    this.#called('resume');
    return this.#step();
  }

  report(): Status {
    return this.#reply(this.module.script.report ?? { verdict: 'sound', warnings: [] });
  }

  tensors(first: number, count: number): Status {
    return this.#reply([{ name: `t${first}`, count }]);
  }

  pairs(first: number, count: number): Status {
    return this.#reply([{ weight: `p${first}`, count }]);
  }

  plan(): Status {
    this.#called('plan');
    const { planReply, outputBytes } = this.module.script;
    if (planReply) {
      this.#reply(planReply.value);
      return planReply.status;
    }
    const read_bytes = (this.module.script.windows?.[Job.Convert] ?? []).reduce((sum, w) => sum + w.end - w.begin, 0);
    const header = this.module.script.outputHeader?.length ?? 0;
    return this.#reply({ output_bytes: outputBytes ?? header + read_bytes, read_bytes });
  }

  setPreview(tensor: string, code: string): Status {
    this.#called(`setPreview ${tensor} ${code}`);
    return this.#reply({});
  }

  preview(): Status {
    return this.#reply({ choices: [] });
  }

  receipt(): Status {
    this.#called('receipt');
    return this.#reply({ recipe: 'f32-mul-rne', notes: [] });
  }

  copies(): Status {
    return this.#reply([]);
  }

  outputHeader(): Status {
    return this.#reply([]);
  }

  copied(verified: boolean): Status {
    return this.#called(`copied ${verified}`);
  }

  outputIndex(): Status {
    return this.#reply({ weight_map: {} });
  }

  replyPtr(): number {
    return REPLY_AT;
  }

  replyLength(): number {
    return this.#replyLength;
  }

  delete(): void {
    this.module.liveSessions -= 1;
    this.#called('delete');
  }

  #windows(): FakeWindow[] {
    return this.module.script.windows?.[this.#job] ?? [];
  }

  #step(): Step {
    if (this.#outputs.length > 0) return Step.HasOutput;
    return this.#fed < this.#windows().length ? Step.NeedInput : Step.Done;
  }

  #called(what: string): Status {
    this.module.calls.push(what);
    return Status.Ok;
  }

  #reply(value: unknown): Status {
    const text = utf8.encode(JSON.stringify(value));
    this.module.HEAPU8.set(text, REPLY_AT);
    this.#replyLength = text.length;
    return Status.Ok;
  }
}

/** Windows of `size` bytes that cover [begin, end). */
export function windowsOf(begin: number, end: number, size: number, source = 0): FakeWindow[] {
  const windows: FakeWindow[] = [];
  for (let at = begin; at < end; at += size) windows.push({ source, begin: at, end: Math.min(end, at + size) });
  return windows;
}

/** Bytes that differ at every offset a test could mix up. */
export function patternBytes(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) bytes[at] = (at * 31 + (at >> 8) * 17 + (at >> 16)) & 0xff;
  return bytes;
}
