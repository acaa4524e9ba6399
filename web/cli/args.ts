// The command line as one value, or a UsageError. Nothing is opened or looked up here.
import { parseArgs } from 'node:util';
import { type ConvertOptions, RECIPES } from '../engine/report';
import { MEMORY_OPTIONS, type MemoryWish, memoryWish } from './memory_options';
import type { PreviewOptions } from './preview';
import { UsageError } from './usage_error';

/** What is to be opened: a file, a folder, several files of one set. */
export interface InputWords {
  paths: string[];
  /** which of several checkpoints in a folder */
  file: string | undefined;
  remote?: RemoteWords | undefined;
}

/** How to reach a server; HF_ENDPOINT and HF_TOKEN stand in for what is not given. */
export interface RemoteWords {
  endpoint: string | undefined;
  tokenFile: string | undefined;
}

export interface ConvertCommand extends InputWords {
  kind: 'convert';
  json: boolean;
  output: string;
  options: ConvertOptions;
  verify: boolean;
  /** goes on with what an interrupted run left */
  resume: boolean;
  progress: boolean;
}

export interface VerifyCommand extends InputWords {
  kind: 'verify';
  /** what is compared; `paths` is what was converted */
  output: string;
  json: boolean;
  options: ConvertOptions;
  progress: boolean;
}

export type Command =
  | { kind: 'help' }
  | { kind: 'version' }
  | ({ kind: 'inspect'; json: boolean; allTensors: boolean; allPairs: boolean } & InputWords)
  | ({ kind: 'ram'; json: boolean; wish: MemoryWish } & InputWords)
  | ({ kind: 'preview' } & PreviewOptions)
  | ConvertCommand
  | VerifyCommand;

export const USAGE = `usage:
  weighbridge inspect [--json] [--tensors] [--pairs] [--file NAME] PATH...
      what is in the checkpoint: dtypes, pairs of weight and scale, problems
  weighbridge ram [--ram SIZE [--free SIZE] [--swap SIZE] [--vram SIZE] [--kind linux|windows|unified|container]]
                  [--loader all|ID] [--dtype as_stored|bf16|fp16|float32|fp8] [--context TOKENS]
                  [--json] [--file NAME] PATH...
      how much memory each way of loading it takes, stage by stage, and whether it fits the machine
  weighbridge preview [--json] [--tensor NAME] [--assume SUBJECT=CHOICE]... [--file NAME] PATH...
      what the weights would be under each answer to the open questions
  weighbridge convert --to bf16|f16|stored -o OUT [--others keep|cast] [--recipe NAME] [--assume SUBJECT=CHOICE]...
                      [--shard-size SIZE] [--resume] [--no-verify] [--progress] [--json] [--file NAME] PATH...
      writes the dequantized checkpoint: one file when OUT ends in .safetensors, else a folder
      --resume: goes on after the last whole tensor that an interrupted run of the same command wrote
  weighbridge verify --from PATH --to bf16|f16|stored [--others keep|cast] [--recipe NAME] [--assume SUBJECT=CHOICE]...
                     [--shard-size SIZE] [--progress] [--json] [--file NAME] OUT
      computes the conversion of PATH again and compares it with OUT

PATH is a .safetensors file, the index of a sharded set, a folder, or several files of one set; or
hf://owner/repo[@revision][/path], a huggingface.co address, or the https address of a .safetensors file or an index,
of which only the needed parts are read. --file NAME chooses among the checkpoints of a folder or a repo.
--endpoint URL (or HF_ENDPOINT) names a mirror of the Hub; --token-file PATH (or HF_TOKEN) holds a read token.
--to stored converts nothing: files are only joined or cut. --shard-size 5GB cuts the output into files of that size
at most.
--recipe f32-mul-rne (the default) multiplies in float32 and rounds once; target-mul-rne rounds the scale to the
target first, as loaders that multiply in the compute dtype do.
--ram is the machine's memory and --free what a new program gets of it, droppable file pages included; --vram 0 says
that there is no graphics card. 32GB is 32 x 10^9 bytes, 32GiB is 32 x 2^30. --dtype is what the weights are held as
(as_stored: each loader's own choice); --context adds a language model's KV cache; --loader ID shows its stages.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 a decision is needed.
`;

const FLAG = { type: 'boolean', default: false } as const;
const WORD = { type: 'string' } as const;
const WORDS = { type: 'string', multiple: true, default: [] as string[] } as const;
const REMOTE = { endpoint: WORD, 'token-file': WORD } as const;
const MEMORY = Object.fromEntries(MEMORY_OPTIONS.map((name) => [name, WORD])) as Record<
  (typeof MEMORY_OPTIONS)[number],
  typeof WORD
>;
const CONVERSION = {
  json: FLAG,
  progress: FLAG,
  file: WORD,
  to: WORD,
  others: WORD,
  recipe: WORD,
  assume: WORDS,
  'shard-size': WORD,
  ...REMOTE,
} as const;

export function parseCommand(argv: readonly string[]): Command {
  const [name, ...args] = argv;
  if (name === undefined) throw new UsageError('a command is missing');
  if (name === 'help' || args.includes('--help') || name === '--help' || name === '-h') return { kind: 'help' };
  if (name === '--version') return { kind: 'version' };
  switch (name) {
    case 'inspect':
      return parseInspect(args);
    case 'ram':
      return parseRam(args);
    case 'preview':
      return parsePreview(args);
    case 'convert':
      return parseConvert(args);
    case 'verify':
      return parseVerify(args);
    default:
      throw new UsageError(`there is no command ${name}`);
  }
}

function parseInspect(args: string[]): Command {
  const options = { json: FLAG, tensors: FLAG, pairs: FLAG, file: WORD, ...REMOTE };
  const { values, positionals } = asUsage(() => parseArgs({ args, options, allowPositionals: true }));
  const { json, tensors, pairs } = values;
  const input = inputWords(positionals, values);
  return { kind: 'inspect', ...input, json, allTensors: tensors, allPairs: pairs };
}

function parseRam(args: string[]): Command {
  const options = { json: FLAG, file: WORD, ...REMOTE, ...MEMORY } as const;
  const { values, positionals } = asUsage(() => parseArgs({ args, options, allowPositionals: true }));
  return { kind: 'ram', ...inputWords(positionals, values), json: values.json, wish: memoryWish(values) };
}

function parsePreview(args: string[]): Command {
  const options = { json: FLAG, file: WORD, tensor: WORD, assume: WORDS, ...REMOTE };
  const { values, positionals } = asUsage(() => parseArgs({ args, options, allowPositionals: true }));
  const { json, tensor = null, assume } = values;
  const input = inputWords(positionals, values);
  return { kind: 'preview', ...input, json, tensor, options: conversionOptions({ to: 'bf16', assume }) };
}

function parseConvert(args: string[]): Command {
  const options = { ...CONVERSION, output: { type: 'string', short: 'o' }, 'no-verify': FLAG, resume: FLAG } as const;
  const { values, positionals } = asUsage(() => parseArgs({ args, options, allowPositionals: true }));
  const input = inputWords(positionals, values);
  if (!values.output) throw new UsageError('convert needs -o OUT, the file or folder to write');
  return {
    kind: 'convert',
    ...input,
    json: values.json,
    output: values.output,
    options: conversionOptions(values),
    verify: !values['no-verify'],
    resume: values.resume,
    progress: values.progress,
  };
}

function parseVerify(args: string[]): Command {
  const options = { ...CONVERSION, from: WORD } as const;
  const { values, positionals } = asUsage(() => parseArgs({ args, options, allowPositionals: true }));
  const [output, second] = positionals;
  if (!output) throw new UsageError('a PATH is missing');
  if (second !== undefined) throw new UsageError(`one PATH at a time, not also ${second}`);
  if (!values.from) throw new UsageError('verify needs --from PATH, the checkpoint that was converted');
  return {
    kind: 'verify',
    ...inputWords([values.from], values),
    json: values.json,
    output,
    options: conversionOptions(values),
    progress: values.progress,
  };
}

interface ConversionWords {
  to?: string | undefined;
  others?: string | undefined;
  recipe?: string | undefined;
  assume: string[];
  'shard-size'?: string | undefined;
}

function conversionOptions({ to, others, recipe: name, assume, 'shard-size': size }: ConversionWords): ConvertOptions {
  if (to !== 'bf16' && to !== 'f16' && to !== 'stored') {
    throw new UsageError(
      'the target dtype is required: --to bf16 or --to f16, or --to stored to only join or cut files',
    );
  }
  if (others !== undefined && others !== 'keep' && others !== 'cast') {
    throw new UsageError('--others is keep (the default) or cast');
  }
  const recipe = RECIPES.find((each) => each === name);
  if (name !== undefined && recipe === undefined) throw new UsageError(`--recipe is ${RECIPES.join(' or ')}`);
  const options: ConvertOptions = { to, others: others ?? 'keep', recipe, assume: parseAssumptions(assume) };
  return size === undefined ? options : { ...options, shards: shardBytes(size) };
}

const UNITS: Record<string, number> = { '': 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

function shardBytes(words: string): number {
  const [, amount = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(words) ?? [];
  const factor = Object.entries(UNITS).find(([name]) => name.toLowerCase() === unit.toLowerCase())?.[1];
  const bytes = Math.floor(Number(amount) * (factor ?? 0));
  if (amount !== '' && factor !== undefined && bytes > 0 && Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError(`--shard-size wants a size such as 5GB, not ${words}`);
}

/** A tensor name may hold "=", a choice never does. */
function parseAssumptions(words: string[]): Record<string, string> {
  const assumed = words.map((word) => {
    const cut = word.lastIndexOf('=');
    if (cut <= 0 || cut === word.length - 1) throw new UsageError(`--assume wants SUBJECT=CHOICE, not ${word}`);
    return [word.slice(0, cut), word.slice(cut + 1)] as const;
  });
  return Object.fromEntries(assumed);
}

interface GivenWords {
  file?: string | undefined;
  endpoint?: string | undefined;
  'token-file'?: string | undefined;
}

function inputWords(positionals: string[], { file, endpoint, 'token-file': tokenFile }: GivenWords): InputWords {
  if (!positionals[0]) throw new UsageError('a PATH is missing');
  const remote = endpoint === undefined && tokenFile === undefined ? undefined : { endpoint, tokenFile };
  return { paths: positionals, file, remote };
}

/** parseArgs throws a TypeError that begins with a sentence for the user. */
function asUsage<T>(parse: () => T): T {
  try {
    return parse();
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    throw new UsageError(message.split('. ')[0] ?? message);
  }
}
