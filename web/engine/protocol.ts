// The messages between the page and the worker; the whole protocol is this file. A request is
// answered by exactly one `reply` with its id; `progress` may come before it, at most 10 times a second.
import type { ErrorObject } from './errors';
import type { Traffic } from './http_client';
import type { PinnedRepo } from './hub';
import type { Layout } from './layouts';
import type { ComponentReceipt } from './pipeline_convert';
import type { ComponentReport } from './pipeline_sum';
import type { RamReply, RamRequest } from './ram_report';
import type {
  ConvertOptions,
  Decision,
  PairRow,
  PlanReport,
  PreviewReport,
  Receipt,
  Report,
  TensorRow,
} from './report';

/** Where a conversion writes. A FileSystemFileHandle of the save picker survives postMessage. */
export type SinkRequest =
  | { kind: 'picker'; handle: FileSystemFileHandle }
  /** a new folder `name` in a folder that the user chose; the only one that takes several files */
  | { kind: 'directory'; handle: FileSystemDirectoryHandle; name: string }
  /** origin-private file `name`; the page exports it afterwards */
  | { kind: 'opfs'; name: string; goesOn?: boolean }
  /** a download that the service worker feeds; the port leads to the page (download_protocol.ts) */
  | { kind: 'download'; name: string; page: MessagePort }
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

/** A file the user chose or dropped, with where it stood: "unet/config.json". */
export interface GivenFile {
  path: string;
  file: File;
}

/** What an address led to, and what is there. */
export interface Located {
  layout: Layout;
  /** of a repo: its name and the commit that everything is read from; null for a file at some other address */
  repo: PinnedRepo | null;
  /** where a person can read about it */
  page: string | null;
  /** the choice to open without asking; null: a person has to choose */
  chosen: string | null;
  traffic: Traffic;
}

/** A working copy whose conversion was interrupted. */
export interface Unfinished {
  name: string;
  /** what it was converted with */
  options: ConvertOptions;
  written_bytes: number;
  output_bytes: number;
}

export interface RequestMap {
  /** what is at an address on a server; the token stays in the worker's memory and goes to the endpoint only */
  locate: { args: { address: string; file: string | null; endpoint: string; token: string }; reply: Located };
  /** what may be opened among these files; ends what was open */
  list: { args: { files: GivenFile[] }; reply: Layout };
  /** one choice of the last list, by its id; a pipeline's component too. `together`: instead, files that are one */
  open: { args: { choice: string; together?: readonly string[] | undefined }; reply: Report };
  /** the components of a pipeline, one after the other; none stays open */
  weigh: { args: { choice: string }; reply: ComponentReport[] };
  /** what loading costs, from the facts in reports; asks for nothing that is open */
  ram: { args: { request: RamRequest }; reply: RamReply };
  tensors: { args: { first: number; count: number }; reply: TensorRow[] };
  pairs: { args: { first: number; count: number }; reply: PairRow[] };
  preview: { args: { options: ConvertOptions; tensor: string; code: string }; reply: PreviewReport };
  plan: { args: { options: ConvertOptions }; reply: Planned | DecisionsNeeded };
  convert: {
    args: { options: ConvertOptions; sink: SinkRequest; verify: boolean };
    reply: Converted | DecisionsNeeded;
  };
  /** working copies that hold a part of a conversion of what is open */
  unfinished: { args: Record<string, never>; reply: Unfinished[] };
  /** the sum of what converting every component of a pipeline would write, or all that is undecided in them */
  planPipeline: { args: { choice: string; options: ConvertOptions }; reply: Planned | DecisionsNeeded };
  /** every component into a new folder */
  convertPipeline: {
    args: { choice: string; options: ConvertOptions; handle: FileSystemDirectoryHandle; name: string; verify: boolean };
    reply: ComponentReceipt[];
  };
  /** a file that was saved, held against what the last conversion wrote; the receipt then says verified */
  check: { args: { file: File }; reply: Receipt };
  /** whether the browser's private storage holds so much */
  room: { args: { bytes: number }; reply: boolean };
  cancel: { args: Record<string, never>; reply: null };
}

export type RequestKind = keyof RequestMap;

export type ToWorker = {
  [K in RequestKind]: { id: number; kind: K } & RequestMap[K]['args'];
}[RequestKind];

export type Phase = 'header' | 'scan' | 'recheck' | 'convert' | 'verify' | 'closing';

export interface Progress {
  phase: Phase;
  done_bytes: number;
  /** 0: not known */
  total_bytes: number;
  /** of a pipeline: the component at hand, by its id */
  component?: string;
  /** of an input on a server */
  traffic?: Traffic;
}

export type FromWorker =
  | { kind: 'reply'; id: number; ok: true; value: unknown }
  | { kind: 'reply'; id: number; ok: false; error: ErrorObject }
  | { kind: 'progress'; id: number; progress: Progress };
