// The JSON that the core (src/session/) replies with, as types. Keys and codes are snake_case, the
// same words in C++, JSON, TypeScript, CLI and tests. Nothing here has behaviour.
import type { ErrorCode } from './errors';
import type { Traffic } from './http_client';
import type { RamReport } from './ram_report';
import type { ReaderRow } from './readers';
import type { SourceCheck } from './source';

/** A number the core could not write as a JSON number is spelled out: "NaN", "Infinity", "-Infinity". */
export type JsonFloat = number | 'NaN' | 'Infinity' | '-Infinity';

export interface CoreIssue {
  code: ErrorCode;
  /** tensor, file or option; "" when the whole input is meant */
  where: string;
  message: string;
}

export type DtypeKind = 'fp8' | 'fp6' | 'fp4' | 'int8' | 'half' | 'f32' | 'other';
export type Verdict = 'sound' | 'problems' | 'refused';

export interface SourceRow {
  name: string;
  size_bytes: number;
  header_bytes: number;
  data_bytes: number;
  tensors: number;
}

/** A count, and the first 100 names at most. */
export interface NameList {
  count: number;
  names: string[];
}

/** What an index promises against what the opened files hold. */
export interface SetReport {
  index: string;
  /** false: some shards were opened on purpose, the rest is only known of */
  whole: boolean;
  /** that the index names, and how many of them are here */
  shards: number;
  opened: number;
  /** that the index lists */
  tensors: number;
  total_size?: number;
  /** with the tensors that stand nowhere else */
  missing_shards: { name: string; tensors: NameList }[];
  extra_shards: NameList;
  /** listed by the index, held by no file that is here */
  phantom_tensors: NameList;
  unlisted_tensors: NameList;
  wrong_shard: NameList;
}

/** Bytes per dtype: every tensor counted once, scales and markers included. */
export interface DtypeRow {
  dtype: string;
  kind: DtypeKind;
  tensors: number;
  elements: number;
  bytes: number;
}

export interface SchemeRow {
  /** fp8_scaled, fp8_unscaled, nvfp4, gptq, ... */
  scheme: string;
  title: string;
  weights: number;
  parameters: number;
  bytes: number;
  /** false: recognised by name and refused */
  supported: boolean;
  formula: string;
}

/** Something only a person can decide; convert stops with exit 3 until it is assumed. */
export interface Decision {
  code: ErrorCode;
  /** what to write left of "=" in --assume for all of these at once */
  subject: string;
  /** the tensors concerned, the first 100 of `count` */
  tensors: string[];
  count: number;
  question: string;
  choices: { choice: string; meaning: string }[];
}

/** Weights and scales that take part in pairs, and all pairs by their state. */
export interface PairCounts {
  weights: number;
  scales: number;
  ok: number;
  undecided: number;
  refused: number;
  noted: number;
}

export interface Report {
  format: 'weighbridge.report';
  version: 1;
  verdict: Verdict;
  /** one sentence a layman can read */
  verdict_text: string;
  /** present when refused; everything that could be read still stands beside it */
  error?: CoreIssue;
  sources: SourceRow[];
  /** only when an index was given */
  set?: SetReport;
  file_bytes: number;
  header_bytes: number;
  data_bytes: number;
  tensor_count: number;
  /** logical parameters: scales, markers and padding are not parameters */
  parameters: number;
  /** elements as the header counts them, all tensors */
  stored_elements: number;
  bf16_data_bytes: number;
  dtypes: DtypeRow[];
  schemes: SchemeRow[];
  pair_counts: PairCounts;
  metadata: { key: string; value: string }[];
  /** side files that were read, and what they said about quantization */
  config: { name: string; says: string }[];
  warnings: CoreIssue[];
  problems: CoreIssue[];
  /** requests and bytes that reading from a server has cost so far */
  traffic?: Traffic;
  decisions: Decision[];
  /** auxiliary tensors that a conversion leaves out, by group */
  dropped: { group: string; count: number; names: string[] }[];
  ram: RamReport;
  /** which programs turn these weights into the right numbers; empty for an empty checkpoint */
  readers: ReaderRow[];
  /** filled by the CLI's --json and by the engine's client, which page through the core */
  tensors?: TensorRow[];
  pairs?: PairRow[];
}

export type TensorRole = 'parameter' | 'weight' | 'scale' | 'activation_scale' | 'kv_scale' | 'marker' | 'auxiliary';

export interface TensorRow {
  name: string;
  dtype: string;
  kind: DtypeKind;
  shape: number[];
  source: number;
  /** within the source file, absolute */
  begin: number;
  end: number;
  elements: number;
  role: TensorRole;
  /** index into the pairs, or -1 */
  pair: number;
  /** values of a tensor of at most 8 elements, once read */
  values?: JsonFloat[];
  /** bytes missing at the end of a truncated file; 0 when whole */
  missing_bytes: number;
}

export type PairState = 'ok' | 'noted' | 'undecided' | 'refused';

export type Granularity =
  | 'per_tensor'
  | 'per_part'
  | 'per_expert'
  | 'per_row'
  | 'per_column'
  | 'group'
  | 'block'
  | 'none'
  | 'unknown';

export interface ScaleRow {
  name: string;
  dtype: string;
  shape: number[];
  source: number;
  /** the value, when there is exactly one */
  value?: JsonFloat;
  /** over all values, when they were read */
  min?: JsonFloat;
  max?: JsonFloat;
}

export interface PairRow {
  weight: string;
  scheme: string;
  dtype: string;
  /** as stored in the header */
  shape: number[];
  parameters: number;
  bytes: number;
  granularity: Granularity;
  /** rows and columns of the weight that share one scale; [0, 0] when unknown */
  group: [number, number];
  scales: ScaleRow[];
  /** e.g. "w[r,c] = fp8(code[r,c]) * weight_scale[r/128, c/128]" */
  formula: string;
  /** which evidence decided, strongest first */
  evidence: { source: string; says: string }[];
  state: PairState;
  issues: CoreIssue[];
}

/** stored: nothing is converted, files are only joined or cut */
export type Target = 'bf16' | 'f16' | 'stored';
/** How a code and its scale are multiplied; docs/formats.md, "Recipes". */
export const RECIPES = ['f32-mul-rne', 'target-mul-rne'] as const;
export type Recipe = (typeof RECIPES)[number];

/** Options of ram, plan and convert. `to` is required by plan and convert. */
export interface ConvertOptions {
  to: Target;
  others: 'keep' | 'cast';
  /** f32-mul-rne unless named */
  recipe?: Recipe | undefined;
  /** subject (scheme, error code or tensor name) -> choice */
  assume: Record<string, string>;
  /** one file (the default), the files of the input, or files with at most so many bytes of tensors */
  shards?: 'one' | 'same' | number;
}

/** What the first weights of a tensor would be under one answer to a question. */
export interface PreviewChoice {
  choice: string;
  meaning: string;
  values: number;
  zeros: number;
  infinite: number;
  nan: number;
  /** magnitude, of the finite */
  largest: number;
  /** of the finite */
  rms: number;
  /** how many finite values have a magnitude in [2^e, 2^(e+1)), for e = first_exponent, first_exponent + 1, ... */
  first_exponent: number;
  histogram: number[];
  first: (number | null)[];
}

export interface PreviewReport {
  tensor: string;
  code: string;
  choices: PreviewChoice[];
}

/** As a person calls them. */
export const TARGET_NAMES: Record<Target, string> = { bf16: 'bf16', f16: 'fp16', stored: 'as stored' };

/** What a conversion writes, before and after. */
export interface PlanFacts {
  to: Target;
  others: 'keep' | 'cast';
  recipe: Recipe;
  /** of the output, in the order they are written; the names count where it is a folder */
  files: { name: string; bytes: number }[];
  /** name of the index to write beside them; "" when there is none */
  index: string;
  output_bytes: number;
  output_header_bytes: number;
  read_bytes: number;
  tensors: number;
  dequantized: number;
  cast: number;
  copied: number;
  /** weights that stay quantized because somebody chose so */
  kept_quantized: number;
  /** nothing is computed: the bytes do not pass through the core */
  copies_only: boolean;
  dropped: number;
  notes: string[];
}

export interface PlanReport extends PlanFacts {
  /** another for every plan that writes other bytes */
  fingerprint: string;
}

/** What a finished conversion says about itself. */
export interface Receipt extends PlanFacts {
  version: string;
  sources: { name: string; size_bytes: number }[];
  assumed: { subject: string; choice: string; tensors: number }[];
  /** XXH64 of every byte of the output, hexadecimal; "" where the core did not see them (copies only) */
  output_xxh64: string;
  verified: boolean;
  f16_overflow: number;
  f16_underflow: number;
  /** tensors of the source with NaN codes, the first 100 */
  nan_tensors: { name: string; count: number }[];
  dropped_names: string[];
  /** small files that were written beside the tensors, and what was changed in them; added by the engine */
  beside?: { name: string; bytes: number; changes: string[] }[];
  /** of sources on a server: whether they are what their publisher stated; added by the engine */
  /** of the output: what an interrupted run had written */
  resumed_bytes?: number;
  source_checks?: SourceCheck[];
  traffic?: Traffic;
}
