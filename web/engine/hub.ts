// The Hub's interface: which commit a revision is, which files it holds, where each is read. Everything after the first
// answer is about one commit, whatever happens to the branch meanwhile.
import { CoreError } from './errors';
import type { HttpClient } from './http_client';
import { statusError } from './http_failures';
import type { FileAddress } from './http_file';
import type { RepoAddress } from './hub_address';

const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const PAGES_MAX = 500;
const SHA = /^[0-9a-f]{40}$/;

export interface HubFile {
  path: string;
  size: number;
  /** of a file in LFS; null for the small ones in git */
  sha256: string | null;
}

export interface PinnedRepo {
  repo: string;
  /** as it was asked for; null: the default branch */
  revision: string | null;
  /** the commit that was found there */
  sha: string;
  gated: boolean;
}

export class Hub {
  readonly endpoint: string;
  readonly client: HttpClient;

  constructor(client: HttpClient, endpoint: string) {
    this.client = client;
    this.endpoint = endpoint;
  }

  async pin({ repo, revision }: Pick<RepoAddress, 'repo' | 'revision'>): Promise<PinnedRepo> {
    const where = revision === null ? '' : `/revision/${encodeURIComponent(revision)}`;
    const { json } = await this.#json(repo, `${this.endpoint}/api/models/${repo}${where}`);
    const sha = fieldOf(json, 'sha');
    if (typeof sha !== 'string' || !SHA.test(sha)) throw badAnswer(repo, 'it names no commit');
    const gated = fieldOf(json, 'gated');
    return { repo, revision, sha, gated: gated !== undefined && gated !== false };
  }

  /** All files of the commit, folders and all; page by page until the Hub says that there is no next. */
  async list({ repo, sha }: PinnedRepo): Promise<HubFile[]> {
    const files: HubFile[] = [];
    let next: string | null = `${this.endpoint}/api/models/${repo}/tree/${sha}?recursive=true&expand=false`;
    for (let page = 0; next !== null; ++page) {
      if (page === PAGES_MAX) throw badAnswer(repo, `its listing has more than ${PAGES_MAX} pages`);
      const { json, headers } = await this.#json(repo, next);
      if (!Array.isArray(json)) throw badAnswer(repo, 'its listing is no list');
      for (const row of json) {
        const file = fileOf(row);
        if (file) files.push(file);
      }
      next = nextPage(headers.get('link'), this.endpoint);
    }
    return files;
  }

  /** Where a file of that commit is read. */
  address({ repo, sha }: PinnedRepo, file: HubFile): FileAddress {
    return {
      name: file.path.slice(file.path.lastIndexOf('/') + 1),
      url: `${this.endpoint}/${repo}/resolve/${sha}/${file.path.split('/').map(encodeURIComponent).join('/')}`,
      page: this.pageOf(repo),
      sizeBytes: file.size,
      sha256: file.sha256,
    };
  }

  /** Where a person reads about the repo, and accepts its licence. */
  pageOf(repo: string): string {
    return `${this.endpoint}/${repo}`;
  }

  async #json(repo: string, url: string): Promise<{ json: unknown; headers: Headers }> {
    const answer = await this.client.getAll(repo, url, ANSWER_BYTES_MAX);
    if (answer.status !== 200) throw statusError(repo, answer, this.pageOf(repo), this.client.hasToken);
    return { json: parsed(repo, answer.bytes), headers: answer.headers };
  }
}

/**
 * The URL of rel="next". Only its query is taken: a mirror may well hand through links to the Hub itself, and neither
 * requests nor the token are to wander off to another origin.
 */
export function nextPage(link: string | null, endpoint: string): string | null {
  const match = /<([^>]+)>\s*;[^,]*\brel="?next"?/.exec(link ?? '');
  if (!match?.[1]) return null;
  const base = new URL(endpoint);
  const next = new URL(match[1], base);
  const at = next.pathname.indexOf('/api/models/');
  return at < 0 ? null : `${endpoint}${next.pathname.slice(at)}${next.search}`;
}

function fileOf(row: unknown): HubFile | null {
  if (fieldOf(row, 'type') !== 'file') return null;
  const path = fieldOf(row, 'path');
  const lfs = fieldOf(row, 'lfs');
  const size = fieldOf(lfs, 'size') ?? fieldOf(row, 'size');
  if (typeof path !== 'string' || typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) return null;
  if (!isPlainPath(path)) return null;
  const oid = fieldOf(lfs, 'oid');
  return { path, size, sha256: typeof oid === 'string' && /^[0-9a-f]{64}$/i.test(oid) ? oid : null };
}

/** Nothing in a name may lead out of a folder that it is written into, on any system. */
function isPlainPath(path: string): boolean {
  return !/[\\:\p{Cc}]/u.test(path) && path.split('/').every((segment) => !['', '.', '..'].includes(segment));
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

function parsed(repo: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw badAnswer(repo, 'it is not JSON');
  }
}

function badAnswer(repo: string, reason: string): CoreError {
  return new CoreError('bad_answer', repo, `the Hub's answer makes no sense: ${reason}`);
}
