// Edits of a JSON text that leave every other byte as it was: parsing and printing a config would turn
// 10000.0 into 10000 and lose integers above 2^53, and loaders do look at that.

interface Member {
  key: string;
  /** of the key's first quote */
  begin: number;
  valueBegin: number;
  valueEnd: number;
}

/** An object's members, and where its brackets are. */
interface Span {
  begin: number;
  /** of the closing bracket */
  end: number;
  members: Member[];
}

export interface Edits {
  /** keys to take out, in whatever object they stand */
  remove: readonly string[];
  /** values to put in place of those that stand under a key, in whatever object */
  replace: Readonly<Record<string, string>>;
}

export interface Edited {
  text: string;
  /** by path: "text_config.quantization_config" */
  removed: string[];
  replaced: string[];
}

/** Null: no JSON object, or nested deeper than any config; such a text stays as it is. */
export function editJson(text: string, edits: Edits): Edited | null {
  try {
    if (!isObject(JSON.parse(text))) return null;
  } catch {
    return null;
  }
  const [root] = objectsIn(text, 0);
  const edit = new Editing(text, edits);
  if (!root || !edit.visit(root, '', 0)) return null;
  return { text: edit.result(), removed: edit.removed, replaced: edit.replaced };
}

const DEPTH_MAX = 50;

class Editing {
  readonly removed: string[] = [];
  readonly replaced: string[] = [];
  readonly #text: string;
  readonly #edits: Edits;
  readonly #cuts: { begin: number; end: number; put: string }[] = [];

  constructor(text: string, edits: Edits) {
    this.#text = text;
    this.#edits = edits;
  }

  /** False when the text is nested too deep. */
  visit({ members }: Span, path: string, depth: number): boolean {
    if (depth > DEPTH_MAX) return false;
    const goes = ({ key }: Member): boolean => this.#edits.remove.includes(key);
    const lastKept = members.findLastIndex((member) => !goes(member));
    for (const [at, member] of members.entries()) {
      if (goes(member)) {
        this.removed.push(path + member.key);
        const next = members[at + 1];
        if (at < lastKept && next) this.#cuts.push({ begin: member.begin, end: next.begin, put: '' });
      } else if (!this.#visitValue(member, path, depth)) {
        return false;
      }
    }
    // Those behind the last one that stays go together with the comma before them.
    const begin = members[lastKept]?.valueEnd ?? members[0]?.begin;
    const end = members.at(-1)?.valueEnd;
    if (lastKept < members.length - 1 && begin !== undefined && end !== undefined)
      this.#cuts.push({ begin, end, put: '' });
    return true;
  }

  result(): string {
    let text = this.#text;
    for (const { begin, end, put } of this.#cuts.sort((a, b) => b.begin - a.begin)) {
      text = text.slice(0, begin) + put + text.slice(end);
    }
    return text;
  }

  #visitValue({ key, valueBegin, valueEnd: end }: Member, path: string, depth: number): boolean {
    const wanted = Object.hasOwn(this.#edits.replace, key) ? this.#edits.replace[key] : undefined;
    if (wanted !== undefined && this.#text[valueBegin] === '"') {
      const put = JSON.stringify(wanted);
      if (this.#text.slice(valueBegin, end) === put) return true;
      this.replaced.push(path + key);
      this.#cuts.push({ begin: valueBegin, end, put });
      return true;
    }
    return objectsIn(this.#text, valueBegin).every((inner) => this.visit(inner, `${path}${key}.`, depth + 1));
  }
}

/** Adds a text member at the end of the top object, in the style of the last one. */
export function addMember(text: string, key: string, value: string): string {
  const [root] = objectsIn(text, 0);
  if (!root) return text;
  const member = `${JSON.stringify(key)}: ${JSON.stringify(value)}`;
  const last = root.members.at(-1);
  if (!last) return `${text.slice(0, root.begin + 1)}${member}${text.slice(root.end)}`;
  const before = text.slice(0, last.begin);
  const space = before.slice(before.trimEnd().length);
  return `${text.slice(0, last.valueEnd)},${space}${member}${text.slice(last.valueEnd)}`;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at `at` if it is an object, or the objects in it if it is an array of them. The text is valid JSON. */
function objectsIn(text: string, at: number): Span[] {
  const begin = skipSpace(text, at);
  if (text[begin] === '{') return [objectAt(text, begin)];
  if (text[begin] !== '[') return [];
  const spans: Span[] = [];
  for (let item = skipSpace(text, begin + 1); text[item] !== ']'; ) {
    if (text[item] === '{') spans.push(objectAt(text, item));
    item = skipSpace(text, valueEnd(text, item));
    if (text[item] === ',') item = skipSpace(text, item + 1);
  }
  return spans;
}

function objectAt(text: string, begin: number): Span {
  const members: Member[] = [];
  let at = skipSpace(text, begin + 1);
  while (text[at] !== '}') {
    const keyEnd = stringEnd(text, at);
    const valueBegin = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, valueBegin);
    members.push({ key: JSON.parse(text.slice(at, keyEnd)) as string, begin: at, valueBegin, valueEnd: end });
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return { begin, end: at, members };
}

function valueEnd(text: string, begin: number): number {
  if (text[begin] === '"') return stringEnd(text, begin);
  if (text[begin] !== '{' && text[begin] !== '[') {
    let at = begin;
    while (at < text.length && !/[\s,\]}]/.test(text[at] ?? '')) at += 1;
    return at;
  }
  let depth = 0;
  for (let at = begin; ; at += 1) {
    if (text[at] === '"') at = stringEnd(text, at) - 1;
    else if (text[at] === '{' || text[at] === '[') depth += 1;
    else if (text[at] === '}' || text[at] === ']') depth -= 1;
    if (depth === 0) return at + 1;
  }
}

function stringEnd(text: string, begin: number): number {
  let at = begin + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function skipSpace(text: string, at: number): number {
  let to = at;
  while (/\s/.test(text[to] ?? 'x')) to += 1;
  return to;
}
