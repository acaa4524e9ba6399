// Diffusers pipelines among the choices: a folder with model_index.json, one component per subfolder. A
// variant ("fp16") is a pipeline of its own that falls back to the plain file where it has none.
import type { Choice, Known, LayoutFile } from './layouts';

type Describe = (choice: Partial<Choice> & Pick<Choice, 'id' | 'kind' | 'files'>, inside: LayoutFile[]) => Choice;

/** The component folders that a model_index.json names: entries of [library, class], null entries aside. */
export function componentsNamed(modelIndexText: string): string[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(modelIndexText);
  } catch {
    return [];
  }
  if (typeof parsed !== 'object' || parsed === null) return [];
  const entries: [string, unknown][] = Object.entries(parsed);
  const named = entries.filter(([, value]) => Array.isArray(value) && typeof value[1] === 'string');
  return named.map(([name]) => name);
}

export function componentGroups(
  files: readonly LayoutFile[],
  found: readonly Choice[],
  known: Known,
  describe: Describe,
): { pipelines: Choice[]; used: Set<Choice> } {
  const pipelines: Choice[] = [];
  const used = new Set<Choice>();
  for (const modelIndex of files.filter(({ path }) => /(^|\/)model_index\.json$/.test(path))) {
    const root = modelIndex.path.slice(0, -'model_index.json'.length);
    const named = known.components?.get(modelIndex.path);
    const parts = componentsBelow(root, named, found);
    const inside = files.filter(({ path }) => path.startsWith(root));
    const seen = new Set<string>();
    for (const variant of variantsOf(parts)) {
      const components = [...parts.values()].map((options) => ofVariant(options, variant));
      const same = components.map(({ id }) => id).join('\n');
      if (seen.has(same)) continue;
      seen.add(same);
      for (const component of components) used.add(component);
      pipelines.push(asPipeline(modelIndex.path, root, variant, components, inside, describe));
    }
  }
  return { pipelines, used };
}

/** Component folder -> what may be opened in it. */
function componentsBelow(
  root: string,
  named: readonly string[] | undefined,
  found: readonly Choice[],
): Map<string, [Choice, ...Choice[]]> {
  const parts = new Map<string, [Choice, ...Choice[]]>();
  for (const choice of found) {
    const name = choice.folder.slice(root.length);
    const isBelow = choice.folder.startsWith(root) && name !== '' && !name.includes('/');
    if (!isBelow || (named && named.length > 0 && !named.includes(name))) continue;
    const options = parts.get(name);
    if (options) options.push(choice);
    else parts.set(name, [choice]);
  }
  return parts;
}

/** "" first. */
function variantsOf(parts: ReadonlyMap<string, readonly Choice[]>): string[] {
  const all = [...parts.values()].flatMap((options) => options.map(({ variant }) => variant));
  return [...new Set(all)].sort();
}

/** The set of a variant goes before a single file of it; the plain one stands in for a missing variant. */
function ofVariant(options: readonly [Choice, ...Choice[]], variant: string): Choice {
  for (const wanted of [variant, '']) {
    const fitting = options.filter((choice) => choice.variant === wanted);
    const best = fitting.find(({ kind }) => kind === 'set') ?? fitting[0];
    if (best) return best;
  }
  return options[0];
}

function asPipeline(
  path: string,
  root: string,
  variant: string,
  components: Choice[],
  inside: LayoutFile[],
  describe: Describe,
): Choice {
  const folder = root.replace(/\/$/, '');
  const names = components.map((component) => component.folder.slice(root.length)).join(', ');
  const kindOf = variant === '' ? 'Pipeline' : `Pipeline, ${variant} variant`;
  const pipeline = describe(
    {
      id: variant === '' ? path : `${path}#${variant}`,
      kind: 'pipeline',
      title: `${folder === '' ? '' : `${folder}: `}${kindOf} (${names})`,
      folder,
      variant,
      files: components.flatMap(({ files }) => files),
      missing: components.flatMap((component) => component.missing.map((name) => `${component.folder}/${name}`)),
      components,
    },
    inside,
  );
  return { ...pipeline, sideFiles: inside.filter((file) => file.path === path) };
}
