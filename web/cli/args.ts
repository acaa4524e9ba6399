// The command line as one value, or a UsageError. Nothing is opened or looked up here.
import { parseArgs } from 'node:util';
import { type ConvertOptions, RECIPES } from '../engine/report';

/** Exit code 2: the command line itself is wrong. */
export class UsageError extends Error {}

export interface ConvertCommand {
  kind: 'convert';
  path: string;
  json: boolean;
  output: string;
  options: ConvertOptions;
  verify: boolean;
  progress: boolean;
}

export interface VerifyCommand {
  kind: 'verify';
  path: string;
  json: boolean;
  source: string;
  options: ConvertOptions;
  progress: boolean;
}

export type Command =
  | { kind: 'help' }
  | { kind: 'version' }
  | { kind: 'inspect'; path: string; json: boolean; allTensors: boolean; allPairs: boolean }
  | { kind: 'ram'; path: string; json: boolean }
  | ConvertCommand
  | VerifyCommand;

export const USAGE = `usage:
  weighbridge inspect [--json] [--tensors] [--pairs] PATH
      what is in the checkpoint: dtypes, pairs of weight and scale, problems
  weighbridge ram [--json] PATH
      how much memory each way of loading it takes
  weighbridge convert --to bf16|f16 -o OUT [--others keep|cast] [--recipe NAME] [--assume SUBJECT=CHOICE]...
                      [--no-verify] [--progress] [--json] PATH
      writes the dequantized checkpoint
  weighbridge verify --from PATH --to bf16|f16 [--others keep|cast] [--recipe NAME] [--assume SUBJECT=CHOICE]...
                     [--progress] [--json] OUT
      computes the conversion of PATH again and compares it with OUT

--recipe f32-mul-rne (the default) multiplies in float32 and rounds once; target-mul-rne rounds the scale to the
target first, as loaders that multiply in the compute dtype do.
PATH is a .safetensors file, or a folder that holds exactly one.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 a decision is needed.
`;

const FLAG = { type: 'boolean', default: false } as const;
const WORD = { type: 'string' } as const;
const WORDS = { type: 'string', multiple: true, default: [] as string[] } as const;
const CONVERSION = { json: FLAG, progress: FLAG, to: WORD, others: WORD, recipe: WORD, assume: WORDS } as const;

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
    case 'convert':
      return parseConvert(args);
    case 'verify':
      return parseVerify(args);
    default:
      throw new UsageError(`there is no command ${name}`);
  }
}

function parseInspect(args: string[]): Command {
  const options = { json: FLAG, tensors: FLAG, pairs: FLAG };
  const { values, positionals } = asUsage(() => parseArgs({ args, options, allowPositionals: true }));
  const { json, tensors, pairs } = values;
  return { kind: 'inspect', path: onePath(positionals), json, allTensors: tensors, allPairs: pairs };
}

function parseRam(args: string[]): Command {
  const { values, positionals } = asUsage(() => parseArgs({ args, options: { json: FLAG }, allowPositionals: true }));
  return { kind: 'ram', path: onePath(positionals), json: values.json };
}

function parseConvert(args: string[]): Command {
  const options = { ...CONVERSION, output: { type: 'string', short: 'o' }, 'no-verify': FLAG } as const;
  const { values, positionals } = asUsage(() => parseArgs({ args, options, allowPositionals: true }));
  const path = onePath(positionals);
  if (!values.output) throw new UsageError('convert needs -o OUT, the file to write');
  return {
    kind: 'convert',
    path,
    json: values.json,
    output: values.output,
    options: conversionOptions(values),
    verify: !values['no-verify'],
    progress: values.progress,
  };
}

function parseVerify(args: string[]): Command {
  const options = { ...CONVERSION, from: WORD } as const;
  const { values, positionals } = asUsage(() => parseArgs({ args, options, allowPositionals: true }));
  const path = onePath(positionals);
  if (!values.from) throw new UsageError('verify needs --from PATH, the checkpoint that was converted');
  return {
    kind: 'verify',
    path,
    json: values.json,
    source: values.from,
    options: conversionOptions(values),
    progress: values.progress,
  };
}

interface ConversionWords {
  to?: string | undefined;
  others?: string | undefined;
  recipe?: string | undefined;
  assume: string[];
}

function conversionOptions({ to, others, recipe: name, assume }: ConversionWords): ConvertOptions {
  if (to !== 'bf16' && to !== 'f16') throw new UsageError('the target dtype is required: --to bf16 or --to f16');
  if (others !== undefined && others !== 'keep' && others !== 'cast') {
    throw new UsageError('--others is keep (the default) or cast');
  }
  const recipe = RECIPES.find((each) => each === name);
  if (name !== undefined && recipe === undefined) throw new UsageError(`--recipe is ${RECIPES.join(' or ')}`);
  return { to, others: others ?? 'keep', recipe, assume: parseAssumptions(assume) };
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

function onePath(positionals: string[]): string {
  const [path, second] = positionals;
  if (!path) throw new UsageError('a PATH is missing');
  if (second !== undefined) throw new UsageError(`one PATH at a time, not also ${second}`);
  return path;
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
