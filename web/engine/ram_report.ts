// What the core says about memory (src/session/ram_reply.cpp), as types. A report carries the facts of one
// checkpoint; the answer to a RamRequest is computed from such facts alone, so it can be asked again at any time.

export type HeldAs = 'as_stored' | 'bf16' | 'f16' | 'f32' | 'fp8';
export type ModelKind = 'unknown' | 'language_model' | 'diffusion_model' | 'text_encoder' | 'vae';

/** What memory depends on in one checkpoint; opaque to everybody but the core, which gets it back as it is. */
export interface RamFacts {
  kind: ModelKind;
  /** krea2, z_image, flux2, qwen_image, ideogram4; "" when the names do not tell */
  family: string;
  /** the tensor, or the line of config.json, that decided */
  because: string;
  has_config: boolean;
  config: Record<string, number>;
  quant_method: string;
  schemes: string[];
  legacy_scales: boolean;
  markers: boolean;
  sums: Record<string, number>;
  files: Record<string, number>[];
}

export interface DtypeBytes {
  dtype: HeldAs;
  bytes: number;
}

/** The load-stage table of the InvokeAI fix, for this file; a peak is the source still alive beside the result. */
export interface LoadStages {
  file_read_bytes: number;
  dequantized_f32_bytes: number;
  dequantized_bf16_bytes: number;
  peak_f32_bytes: number;
  peak_bf16_bytes: number;
}

export interface RamReport {
  /** all parameters, by the dtype they are held in; as stored: with scales and markers */
  per_dtype: DtypeBytes[];
  load_stages: LoadStages;
  facts: RamFacts;
  /** every row of the loader table, without a machine */
  loaders: LoaderTimeline[];
}

export type MachineKind = 'linux' | 'windows' | 'unified' | 'container';

export interface Machine {
  kind: MachineKind;
  ram_bytes: number;
  /** for a new program, droppable file pages included; all of it when absent */
  free_bytes?: number;
  /** swap, or the page file */
  swap_bytes?: number;
  /** 0: no graphics card; absent: not said, and not judged */
  vram_bytes?: number;
}

export interface RamRequest {
  /** one checkpoint, or the components of a pipeline */
  components: { title: string; facts: RamFacts }[];
  machine?: Machine | null;
  /** what the weights are to be held as; as_stored (the default): each loader's own choice */
  held_as?: HeldAs;
  /** of a language model: a KV cache of so many tokens is added */
  context_tokens?: number;
  /** of the KV cache; 2 when absent */
  kv_bytes_per_value?: number;
  /** id of a row; "all" when absent */
  loader?: string;
}

/** file_pages: the file has them too; anonymous: memory or swap only; transient: for a moment, at its place. */
export type TermKind = 'file_pages' | 'anonymous' | 'device' | 'transient';

/** The names that terms have; docs/ram.md says what each is. */
export type TermName =
  | 'file'
  | 'one_shard'
  | 'mapped_weights'
  | 'file_buffer'
  | 'weights'
  | 'float32_weights'
  | 'widened_weights'
  | 'one_tensor'
  | 'one_layer'
  | 'device_weights'
  | 'kv_cache'
  | 'core_heap'
  | 'windows'
  | 'other_components'
  | 'other_components_mapped'
  | 'other_components_on_device';

export type StageName =
  | 'map'
  | 'read'
  | 'parse'
  | 'copy'
  | 'dequantize'
  | 'cast'
  | 'load_shards'
  | 'resident'
  | 'on_device'
  | 'in_use'
  | 'convert'
  | 'done';

export interface MemoryTerm {
  name: TermName;
  kind: TermKind;
  place: 'ram' | 'device';
  bytes: number;
}

/** One moment; everything that is alive at once. */
export interface MemoryStage {
  stage: StageName;
  /** of a pipeline: the title of the component that is loaded or used */
  component?: string;
  /** in RAM: file pages, anonymous and transient */
  total_bytes: number;
  /** in RAM without the file pages */
  firm_bytes: number;
  device_bytes: number;
  terms: MemoryTerm[];
}

export type Fit = 'fits' | 'fits_if_closed' | 'will_swap' | 'will_be_killed';

/** What decides, and both numbers. */
export interface MemoryVerdict {
  fit: Fit;
  pool: 'ram' | 'commit' | 'vram';
  /** index into the stages */
  stage: number;
  stage_name: StageName;
  /** the largest of that stage in that pool */
  term: TermName;
  need_bytes: number;
  /** what it was compared with: free memory, all of it, or all of it with swap */
  have_bytes: number;
  /** file pages that do not fit beside the rest: dropped, and read again when they are used */
  dropped_bytes: number;
}

export type Arrangement = 'together' | 'offload' | 'in_turn';

interface LoaderRow {
  loader: string;
  title: string;
  /** of the program that was read, the place in it, and its address ("" for our own) */
  version: string;
  source: string;
  url: string;
  /** what is there once it is loaded: something to run, tensors for a program of one's own, or a file */
  purpose: 'program' | 'tensors' | 'conversion';
  /** of a pipeline: how its components share the machine */
  arrangement?: Arrangement;
}

export interface LoaderApplies extends LoaderRow {
  applies: true;
  /** in the order they happen; the last is the steady state */
  stages: MemoryStage[];
  /** index of the stage with the most RAM, file pages included, and how much that is */
  peak_stage: number;
  peak_bytes: number;
  /** the highest moment without file pages */
  firm_peak_bytes: number;
  device_peak_bytes: number;
  /** RAM of the last stage, without what is transient */
  steady_bytes: number;
  /** only when a machine was given */
  verdict?: MemoryVerdict;
}

export interface LoaderRefuses extends LoaderRow {
  applies: false;
  reason: string;
}

export type LoaderTimeline = LoaderApplies | LoaderRefuses;

export interface KvCache {
  tokens: number;
  known: boolean;
  bytes: number;
  /** why nothing was computed, or what is left out */
  missing?: string;
  lines: {
    what: 'full_attention' | 'sliding_attention' | 'latent_attention';
    layers: number;
    tokens: number;
    bytes: number;
    formula: string;
  }[];
}

export interface HelpRow {
  /** another loader, converting first, holding as another dtype, another arrangement of the components */
  action: 'other_loader' | 'convert_first' | 'hold_as' | 'arrange';
  loader: string;
  title: string;
  /** what the weights are held as, or converted to first */
  held_as: HeldAs;
  arrangement?: Arrangement;
  /** the highest moment without file pages, and how much less that is */
  need_bytes: number;
  saves_bytes: number;
  verdict?: MemoryVerdict;
}

export interface RamReply {
  format: 'weighbridge.ram';
  version: 1;
  held_as: HeldAs;
  per_dtype: DtypeBytes[];
  /** of a pipeline: every row in every arrangement */
  loaders: LoaderTimeline[];
  /** only of a language model with context_tokens */
  kv_cache?: KvCache;
  /** what would take less than one row does: the one that was asked for, else the one that needs the most */
  help?: { loader: string; arrangement?: Arrangement; rows: HelpRow[] };
}
