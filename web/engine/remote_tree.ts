// A repo's commit, or a file or an index at some https address, as a tree of files: the same rules as for a folder
// on disk say what may be opened in it.
import { CoreError, type ErrorCode } from './errors';
import { choose, type FileTree } from './file_tree';
import type { Core } from './heap';
import type { HttpClient, Traffic } from './http_client';
import { statusError } from './http_failures';
import type { FileAddress } from './http_file';
import { type Sha256, scriptSha256 } from './http_hash';
import { HttpSource } from './http_source';
import { Hub, type HubFile, type PinnedRepo } from './hub';
import { type Address, HUB_ENDPOINT, parseAddress } from './hub_address';
import {
  baseName,
  type Choice,
  findChoice,
  folderOf,
  isCheckpoint,
  isIndex,
  type Layout,
  type LayoutFile,
  layOut,
} from './layouts';
import { INDEX_BYTES_MAX, SIDE_FILE_BYTES_MAX } from './side_files';
import type { ByteSource } from './source';

export interface RemoteOptions {
  client: HttpClient;
  endpoint?: string | undefined;
  makeSha256?: (() => Sha256) | undefined;
}

/** What an address leads to. */
export interface RemotePlace {
  tree: FileTree;
  /** null: not a repo */
  repo: PinnedRepo | null;
  /** the file or folder that the address names; "" for all of it */
  path: string;
}

export async function findRemote(core: Core, text: string, options: RemoteOptions): Promise<RemotePlace> {
  const address: Address = parseAddress(text, options.endpoint);
  if (address.kind === 'url') return findUrl(core, address.url, options);
  const hub = new Hub(options.client, options.endpoint ?? HUB_ENDPOINT);
  const repo = await hub.pin(address);
  const files = await hub.list(repo);
  const within = filesWithin(files, address.path);
  if (within.length === 0) {
    const what = address.path === '' ? 'the repo holds no file' : `the repo has no ${address.path}`;
    throw new CoreError('not_found', `${repo.repo}@${repo.sha.slice(0, 8)}`, what);
  }
  const tree = new RepoTree(hub, repo, within, options.makeSha256);
  const place = { tree, repo, path: address.path };
  tree.expect(likelyShards(place));
  return place;
}

/** All files, those of a folder, or a file with everything in its folder: its index and config say more about it. */
function filesWithin(files: readonly HubFile[], path: string): HubFile[] {
  if (path === '') return [...files];
  if (files.some((file) => file.path === path)) return files.filter((file) => folderOf(file.path) === folderOf(path));
  const folder = `${path.replace(/\/+$/, '')}/`;
  return files.filter((file) => file.path.startsWith(folder));
}

/** What will be opened, going by names alone: its shards can be on their way while the index is read. */
function likelyShards(place: RemotePlace): readonly LayoutFile[] {
  try {
    const choice = chooseRemote(layOut(place.tree.files), place, '');
    return choice.kind === 'set' ? choice.files : [];
  } catch {
    return [];
  }
}

class RepoTree implements FileTree {
  readonly files: readonly LayoutFile[];
  readonly #hub: Hub;
  readonly #repo: PinnedRepo;
  readonly #byPath: ReadonlyMap<string, HubFile>;
  readonly #makeSha256: () => Sha256;
  readonly #indexes = new Map<string, Promise<Uint8Array>>();
  /** opened before anybody asked, each taken once */
  readonly #early = new Map<string, Promise<ByteSource>>();
  #expected: readonly LayoutFile[] = [];

  constructor(hub: Hub, repo: PinnedRepo, files: readonly HubFile[], makeSha256: () => Sha256 = scriptSha256) {
    this.files = files.map(({ path, size }) => ({ path, size }));
    this.#hub = hub;
    this.#repo = repo;
    this.#byPath = new Map(files.map((file) => [file.path, file]));
    this.#makeSha256 = makeSha256;
  }

  /** An index is asked for twice, for the layout and for the checkpoint, and may have 60 MB. */
  read(file: LayoutFile): Promise<Uint8Array> {
    if (!isIndex(file.path)) return readWhole(this.#hub.client, this.#address(file), file.size);
    const known = this.#indexes.get(file.path) ?? readWhole(this.#hub.client, this.#address(file), file.size);
    this.#indexes.set(file.path, known);
    known.catch(() => this.#indexes.delete(file.path));
    this.#openExpected();
    return known;
  }

  /** These are opened as soon as the first index is asked for. */
  expect(files: readonly LayoutFile[]): void {
    this.#expected = files;
  }

  open(file: LayoutFile): Promise<ByteSource> {
    const early = this.#early.get(file.path);
    this.#early.delete(file.path);
    return early ?? this.#open(file);
  }

  #openExpected(): void {
    for (const file of this.#expected) this.#early.set(file.path, this.#open(file));
    this.#expected = [];
  }

  #open(file: LayoutFile): Promise<ByteSource> {
    return HttpSource.open(this.#hub.client, this.#address(file), { makeSha256: this.#makeSha256 });
  }

  traffic(): Traffic {
    return this.#hub.client.traffic;
  }

  #address({ path }: LayoutFile): FileAddress {
    const file = this.#byPath.get(path);
    if (file === undefined) throw new CoreError('not_found', path, 'the repo has no such file');
    return this.#hub.address(this.#repo, file);
  }
}

/** Looked for beside a file or an index at an address of its own, as they would be found in its folder. */
const BESIDE_NAMES = ['config.json', 'quantize_config.json', 'hf_quant_config.json'];
/** What servers say of a file that is not there: some do not tell it from a forbidden one, or forbid to read that answer. */
const ABSENT_CODES: readonly ErrorCode[] = [
  'not_found',
  'access_denied',
  'login_required',
  'cors_blocked',
  'bad_answer',
];

async function findUrl(core: Core, url: string, { client }: RemoteOptions): Promise<RemotePlace> {
  const name = nameOf(url);
  const tree = new UrlTree(client, url);
  await (isIndex(name) ? tree.addIndex(core, name) : tree.addAlone(name));
  return { tree, repo: null, path: name };
}

/** Files beside each other at https addresses. Nobody lists them: only what is named is there. */
class UrlTree implements FileTree {
  readonly files: LayoutFile[] = [];
  readonly #client: HttpClient;
  readonly #url: string;
  /** the answers that told the sizes: whoever opens such a file first goes on with it */
  readonly #opened = new Map<string, ByteSource>();
  readonly #whole = new Map<string, Uint8Array>();

  constructor(client: HttpClient, url: string) {
    this.#client = client;
    this.#url = url;
  }

  /** The size of a file is in the answer to its first read. */
  async add(name: string): Promise<void> {
    const source = await HttpSource.open(this.#client, { name, url: this.#sibling(name) });
    this.#opened.set(name, source);
    this.files.push({ path: name, size: source.size });
  }

  async addAlone(name: string): Promise<void> {
    await Promise.all([this.add(name), ...this.#lookBeside()]);
  }

  /** The index and its shards where they are. */
  async addIndex(core: Core, index: string): Promise<void> {
    await this.#addWhole(index, INDEX_BYTES_MAX);
    const names = core.indexedFiles(index, this.#whole.get(index) ?? new Uint8Array());
    const isMissing = (thrown: unknown): void => {
      if (!(thrown instanceof CoreError) || thrown.code !== 'not_found') throw thrown;
    };
    await Promise.all([
      ...names.filter(isCheckpoint).map((name) => this.add(name).catch(isMissing)),
      ...this.#lookBeside(),
    ]);
  }

  /** What may say more stands beside it, or does not: nobody promised it. */
  #lookBeside(): Promise<void>[] {
    return BESIDE_NAMES.map(async (name) => {
      try {
        const bytes = await this.#readSibling(name, SIDE_FILE_BYTES_MAX);
        // a server that answers everything with its home page
        if (/^\s*\{/.test(new TextDecoder().decode(bytes.subarray(0, 64)))) this.#keep(name, bytes);
      } catch (thrown) {
        if (!(thrown instanceof CoreError) || !ABSENT_CODES.includes(thrown.code)) throw thrown;
      }
    });
  }

  async read({ path }: LayoutFile): Promise<Uint8Array> {
    const bytes = this.#whole.get(path);
    if (bytes === undefined) throw new CoreError('not_found', path, 'this file was not read');
    return bytes;
  }

  async open({ path }: LayoutFile): Promise<ByteSource> {
    const source = this.#opened.get(path);
    this.#opened.delete(path);
    return source ?? HttpSource.open(this.#client, { name: path, url: this.#sibling(path) });
  }

  traffic(): Traffic {
    return this.#client.traffic;
  }

  async #addWhole(name: string, bytesMax: number): Promise<void> {
    this.#keep(name, await this.#readSibling(name, bytesMax));
  }

  #readSibling(name: string, bytesMax: number): Promise<Uint8Array> {
    return readWhole(this.#client, { name, url: this.#sibling(name) }, null, bytesMax);
  }

  #keep(name: string, bytes: Uint8Array): void {
    this.#whole.set(name, bytes);
    this.files.push({ path: name, size: bytes.length });
  }

  #sibling(name: string): string {
    if (name === nameOf(this.#url)) return this.#url;
    const url = new URL(this.#url);
    url.pathname = `${folderOf(url.pathname)}/${encodeURIComponent(name)}`;
    return url.href;
  }
}

/** A small file. `sizeBytes`: what the listing says; null: nobody does. */
async function readWhole(
  client: HttpClient,
  { name, url, page }: FileAddress,
  sizeBytes: number | null,
  bytesMax = sizeBytes ?? 0,
): Promise<Uint8Array> {
  const answer = await client.getAll(name, url, bytesMax);
  if (answer.status !== 200) throw statusError(name, answer, page ?? null, client.hasToken);
  const { bytes } = answer;
  if (sizeBytes === null || bytes.length === sizeBytes) return bytes;
  throw new CoreError('source_changed', name, `the listing says ${sizeBytes} bytes, the server sent ${bytes.length}`);
}

/** What the address names, or what was asked for in it. Errc: choice_needed, not_found. */
export function chooseRemote(layout: Layout, { path }: RemotePlace, where: string, name?: string): Choice {
  if (name !== undefined) return choose(layout, where, name);
  const isFolder = path === '' || !layout.choices.some(({ files }) => files.some((file) => file.path === path));
  if (path !== '' && !isFolder) return choose(layout, where, path);
  const named = path === '' ? null : findChoice(layout, path);
  return named ?? choose(layout, where);
}

function nameOf(url: string): string {
  return decodeURIComponent(baseName(new URL(url).pathname));
}
