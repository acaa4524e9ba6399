// The messages between the page and the worker; the whole protocol is this file. A request is
// answered by exactly one `reply` with its id; `progress` may come before it, at most 10 times a second.
import type { ErrorObject } from './errors';
import type { Traffic } from './http_client';
import type { ConvertOptions, Decision, PairRow, PlanReport, Receipt, Report, TensorRow } from './report';

/** Where a conversion writes. A FileSystemFileHandle of the save picker survives postMessage. */
export type SinkRequest =
  | { kind: 'picker'; handle: FileSystemFileHandle }
  /** origin-private file `name`; the page exports it afterwards */
  | { kind: 'opfs'; name: string }
  /** small outputs only; the reply carries the Blob */
  | { kind: 'memory' };

/** What `plan` and `convert` answer when only a person can decide. Nothing was written. */
export interface DecisionsNeeded {
  kind: 'decisions';
  decisions: Decision[];
}

export interface Planned {
  kind: 'planned';
  plan: PlanReport;
}

export interface Converted {
  kind: 'converted';
  receipt: Receipt;
  /** only for the memory sink */
  blob?: Blob;
}

export interface RequestMap {
  /** .safetensors files first; config.json and the like ride along and are recognised by name */
  open: { args: { files: File[] }; reply: Report };
  tensors: { args: { first: number; count: number }; reply: TensorRow[] };
  pairs: { args: { first: number; count: number }; reply: PairRow[] };
  plan: { args: { options: ConvertOptions }; reply: Planned | DecisionsNeeded };
  convert: {
    args: { options: ConvertOptions; sink: SinkRequest; verify: boolean };
    reply: Converted | DecisionsNeeded;
  };
  cancel: { args: Record<string, never>; reply: null };
}

export type RequestKind = keyof RequestMap;

export type ToWorker = {
  [K in RequestKind]: { id: number; kind: K } & RequestMap[K]['args'];
}[RequestKind];

export type Phase = 'header' | 'scan' | 'convert' | 'verify' | 'closing';

export interface Progress {
  phase: Phase;
  done_bytes: number;
  /** 0: not known */
  total_bytes: number;
  /** of an input on a server */
  traffic?: Traffic;
}

export type FromWorker =
  | { kind: 'reply'; id: number; ok: true; value: unknown }
  | { kind: 'reply'; id: number; ok: false; error: ErrorObject }
  | { kind: 'progress'; id: number; progress: Progress };
