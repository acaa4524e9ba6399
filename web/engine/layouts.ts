// Which of many files belong together: names and sizes in, what may be opened out. Pure, so that a dropped
// folder, a folder on disk and a repo's tree listing are told apart by the same rules (docs/sets.md).
import { componentGroups } from './pipeline_layouts';
import { isSideFile } from './side_files';

export interface LayoutFile {
  /** from the root of what was given, with slashes: "unet/config.json" */
  path: string;
  size: number;
}

/** What the contents of a few small files said, where somebody has read them. Everything here is optional. */
export interface Known {
  /** path of an index -> the file names in its weight_map (Core.indexedFiles) */
  indexed?: ReadonlyMap<string, readonly string[]>;
  /** path of a model_index.json -> the component folders that it names (componentsNamed) */
  components?: ReadonlyMap<string, readonly string[]>;
}

export type ChoiceKind = 'file' | 'set' | 'pipeline';

/** One thing that can be opened. */
export interface Choice {
  /** names it for `--file` and links: a file's, an index's or a model_index.json's path, or a pattern of paths */
  id: string;
  title: string;
  kind: ChoiceKind;
  /** "" is the root */
  folder: string;
  /** "fp16" of model.fp16.safetensors; "" mostly */
  variant: string;
  /** the checkpoint files, in order; of a pipeline those of all components */
  files: LayoutFile[];
  /** of all `files` */
  bytes: number;
  index: LayoutFile | null;
  /** named by the index (or by the numbers in the names), and not there */
  missing: string[];
  /** config.json and the like: read when this is opened */
  sideFiles: LayoutFile[];
  /** tokenizer and the like: carried along when this is converted into a folder */
  companions: LayoutFile[];
  /** of a pipeline, each to be opened by itself */
  components: Choice[];
  /** some of a set's files, without the others on purpose */
  partOfSet?: boolean;
}

export type IgnoredReason = 'beside_set' | 'other_format' | 'not_read' | 'given_twice' | 'no_shards';

/** One sentence each, for page and terminal. */
export const IGNORED_REASONS: Record<IgnoredReason, string> = {
  beside_set: 'not part of the set that the index describes',
  other_format: 'another format than safetensors',
  not_read: 'no checkpoint, and nothing that says something about one',
  given_twice: 'the same path was given twice',
  no_shards: 'an index without any of its shards',
};

export interface Ignored {
  path: string;
  size: number;
  reason: IgnoredReason;
}

export interface Layout {
  /** pipelines first, then sets, then single files */
  choices: Choice[];
  /** the id to open without asking, or null when a person has to choose */
  preferred: string | null;
  ignored: Ignored[];
}

/** The index of a set: model.safetensors.index.json, or model.safetensors.index.fp16.json of a variant. */
const INDEX_NAME = /^(.+)\.safetensors\.index(?:\.([^.]+))?\.json$/i;
const SHARD_NAME = /^(.+?)-(\d{5,6})-of-(\d{5,6})\.safetensors$/i;
/** Mistral's and Meta's own downloads number their parts without a total. */
const PART_NAME = /^(consolidated)\.(\d{2,3})\.safetensors$/i;
const CHECKPOINT_NAME = /\.safetensors$/i;
const OTHER_FORMAT_NAME =
  /\.(bin|pt|pth|ckpt|pkl|gguf|ggml|onnx|onnx_data|msgpack|h5|keras|ot|tflite|npz|npy|mlmodel)$/i;
/** Stems that the libraries use; what follows them is a variant. */
const VARIANT_NAME = /^(?:model|diffusion_pytorch_model|pytorch_model)\.(.+)$/i;

/** What rides along into a converted folder, and how big one such file may be. */
const COMPANION_NAME = /(\.(json|txt|model|tiktoken|jinja|py|md|ya?ml|vocab|merges|spm)|^(license|notice)[^.]*)$/i;
export const COMPANION_BYTES_MAX = 64 * 1024 * 1024;

export function isIndex(path: string): boolean {
  return INDEX_NAME.test(baseName(path));
}

export function isCheckpoint(path: string): boolean {
  return CHECKPOINT_NAME.test(path);
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** "" for a file at the root. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

export function layOut(given: readonly LayoutFile[], known: Known = {}): Layout {
  const { files, ignored } = withoutRepeats(given);
  const found = [...byFolder(files)].flatMap(([folder, inside]) => choicesIn(folder, inside, known));
  const { pipelines, used } = componentGroups(files, found, known, describe);
  const rest = found.filter((choice) => !used.has(choice));
  const choices = [...pipelines, ...ofKind(rest, 'set'), ...ofKind(rest, 'file')];
  if (choices.length === 0) choices.push(...loneFile(files));
  const strays = straysBeside(rest);
  const wanted = choices.filter((choice) => !strays.has(choice.id));
  ignored.push(...leftOver(files, choices, strays));
  return { choices, preferred: wanted.length === 1 ? (wanted[0]?.id ?? null) : null, ignored };
}

/** A choice or a component by its id; also by the path of its only file or its folder, as a person would say it. */
export function findChoice({ choices }: Layout, name: string): Choice | null {
  const all = choices.flatMap((choice) => [choice, ...choice.components]);
  const exact = all.find(({ id }) => id === name);
  if (exact) return exact;
  const wanted = name.replace(/\/+$/, '');
  const inFolder = all.filter(({ folder }) => folder === wanted);
  return inFolder.length === 1 ? (inFolder[0] ?? null) : null;
}

function choicesIn(folder: string, inside: readonly LayoutFile[], known: Known): Choice[] {
  const left = new Map(inside.filter(({ path }) => isCheckpoint(path)).map((file) => [baseName(file.path), file]));
  const all = new Map(left);
  const choices: Choice[] = [];
  const add = (choice: Partial<Choice> & Pick<Choice, 'id' | 'kind' | 'files'>): void => {
    choices.push(describe({ folder, ...choice }, inside));
    for (const { path } of choice.files) left.delete(baseName(path));
  };

  // 1. The index is the truth: what it names belongs together, whatever the names are.
  for (const index of inside.filter(({ path }) => isIndex(path))) {
    const names = known.indexed?.get(index.path) ?? namesLike(index, [...all.keys()]);
    const files = names.map((name) => all.get(name)).filter((file) => file !== undefined);
    if (files.length === 0) continue;
    const missing = names.filter((name) => !all.has(name));
    add({ id: index.path, kind: 'set', files, index, missing, variant: variantOf(baseName(index.path)) });
  }
  // 2. Without one, numbered names do.
  for (const [pattern, files] of numbered([...left.values()])) {
    const missing = missingNumbers(files.map(({ path }) => baseName(path)));
    if (files.length + missing.length > 1) add({ id: within(folder, pattern), kind: 'set', files, missing });
  }
  // 3. Everything else stands alone.
  for (const file of [...left.values()]) add({ id: file.path, kind: 'file', files: [file] });
  return choices;
}

/** The names that an index of this name mostly stands for, where nobody has read it yet. */
function namesLike(index: LayoutFile, names: readonly string[]): string[] {
  const [, stem = '', variant] = INDEX_NAME.exec(baseName(index.path)) ?? [];
  const prefix = variant === undefined ? stem : `${stem}.${variant}`;
  const shards = names.filter((name) => SHARD_NAME.exec(name)?.[1] === prefix).sort(inOrder);
  return shards.length > 0
    ? [...shards, ...missingNumbers(shards)]
    : names.filter((name) => name === `${prefix}.safetensors`);
}

/** Files with numbers in their names, by the name without the number. */
function numbered(files: readonly LayoutFile[]): Map<string, LayoutFile[]> {
  const groups = new Map<string, LayoutFile[]>();
  for (const file of files) {
    const name = baseName(file.path);
    const shard = SHARD_NAME.exec(name);
    const part = PART_NAME.exec(name);
    const pattern = shard ? `${shard[1]}-*-of-${shard[3]}.safetensors` : part ? `${part[1]}.*.safetensors` : null;
    if (pattern !== null) groups.set(pattern, [...(groups.get(pattern) ?? []), file]);
  }
  return groups;
}

/** Said of names only: shards are never looked for by names made up here. */
function missingNumbers(names: readonly string[]): string[] {
  const shards = names.map((name) => SHARD_NAME.exec(name)).filter((match) => match !== null);
  const [first] = shards;
  if (!first) return [];
  const [, prefix = '', digits = '', total = ''] = first;
  const there = new Set(shards.map((shard) => Number(shard[2])));
  const missing: string[] = [];
  for (let number = 1; number <= Number(total) && missing.length < MISSING_NAMES_MAX; ++number) {
    if (there.has(number)) continue;
    missing.push(`${prefix}-${String(number).padStart(digits.length, '0')}-of-${total}.safetensors`);
  }
  return missing;
}

/** A made-up "of-999999" must not cost a million names. */
const MISSING_NAMES_MAX = 10_000;

/** Fills in what follows from the rest: title, sizes, what rides along. `inside` is the choice's own folder. */
function describe(
  choice: Partial<Choice> & Pick<Choice, 'id' | 'kind' | 'files'>,
  inside: readonly LayoutFile[],
): Choice {
  const files = choice.kind === 'set' ? [...choice.files].sort((a, b) => inOrder(a.path, b.path)) : choice.files;
  return {
    folder: '',
    variant: variantOf(baseName(choice.id)),
    index: null,
    missing: [],
    components: [],
    title: titleOf(choice.id, choice.kind, choice.files.length),
    sideFiles: inside.filter(({ path }) => isSideFile(baseName(path))),
    companions: inside.filter(isCompanion),
    ...choice,
    files,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
  };
}

function titleOf(id: string, kind: ChoiceKind, fileCount: number): string {
  if (kind === 'file') return id;
  return `${id.replace(INDEX_ENDING, '')} (${fileCount} ${fileCount === 1 ? 'file' : 'files'})`;
}

const INDEX_ENDING = /\.safetensors\.index(?=[^/]*\.json$)|\.json$/gi;

function variantOf(name: string): string {
  const [, stem = '', ofIndex] = INDEX_NAME.exec(name) ?? [];
  if (ofIndex !== undefined) return ofIndex;
  const plain = stem || name.replace(CHECKPOINT_NAME, '').replace(/-(\*|\d{5,6})-of-\d{5,6}$/, '');
  return VARIANT_NAME.exec(plain)?.[1] ?? '';
}

function isCompanion({ path, size }: LayoutFile): boolean {
  const name = baseName(path);
  return COMPANION_NAME.test(name) && !isIndex(name) && !/\.index\.json$/i.test(name) && size <= COMPANION_BYTES_MAX;
}

/** Single files in the folder of exactly one indexed set: copies, or other cuts of the same model. */
function straysBeside(choices: readonly Choice[]): Set<string> {
  const strays = new Set<string>();
  for (const set of choices) {
    if (set.index === null) continue;
    const beside = choices.filter((other) => other !== set && other.folder === set.folder);
    if (beside.some(({ index }) => index !== null)) continue;
    for (const { id } of beside) strays.add(id);
  }
  return strays;
}

/** A lone file is never ignored, whatever its name: the core says what it is. */
function loneFile(files: readonly LayoutFile[]): Choice[] {
  const others = files.filter(({ path }) => !isSideFile(baseName(path)) && !/\.index(\.[^.]+)?\.json$/i.test(path));
  const [only, second] = others;
  if (!only || second) return [];
  const folder = folderOf(only.path);
  const inside = files.filter(({ path }) => folderOf(path) === folder);
  return [describe({ id: only.path, kind: 'file', folder, files: [only] }, inside)];
}

function leftOver(files: readonly LayoutFile[], choices: readonly Choice[], strays: ReadonlySet<string>): Ignored[] {
  const taken = new Set<string>();
  const stray = new Set<string>();
  for (const choice of choices) {
    const { index, sideFiles, companions } = choice;
    if (strays.has(choice.id)) for (const { path } of choice.files) stray.add(path);
    const own = [choice, ...choice.components].flatMap((part) => [...part.files, ...(part.index ? [part.index] : [])]);
    for (const { path } of [...own, ...(index ? [index] : []), ...sideFiles, ...companions]) taken.add(path);
  }
  const left: Ignored[] = [];
  for (const { path, size } of files) {
    if (stray.has(path)) left.push({ path, size, reason: 'beside_set' });
    else if (!taken.has(path)) left.push({ path, size, reason: reasonOf(path) });
  }
  return left;
}

function reasonOf(path: string): IgnoredReason {
  if (isIndex(path)) return 'no_shards';
  return OTHER_FORMAT_NAME.test(path) || /\.(bin|h5)\.index\.json$/i.test(path) ? 'other_format' : 'not_read';
}

function withoutRepeats(given: readonly LayoutFile[]): { files: LayoutFile[]; ignored: Ignored[] } {
  const files = new Map<string, LayoutFile>();
  const ignored: Ignored[] = [];
  for (const file of given) {
    if (files.has(file.path)) ignored.push({ ...file, reason: 'given_twice' });
    else files.set(file.path, file);
  }
  return { files: [...files.values()].sort((a, b) => inOrder(a.path, b.path)), ignored };
}

function byFolder(files: readonly LayoutFile[]): Map<string, LayoutFile[]> {
  const folders = new Map<string, LayoutFile[]>();
  for (const file of files) {
    const folder = folderOf(file.path);
    const inside = folders.get(folder);
    if (inside) inside.push(file);
    else folders.set(folder, [file]);
  }
  return folders;
}

function ofKind(choices: readonly Choice[], kind: ChoiceKind): Choice[] {
  return choices.filter((choice) => choice.kind === kind);
}

function within(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** By code units, the same everywhere. */
function inOrder(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
