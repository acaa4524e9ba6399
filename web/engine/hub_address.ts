// What a person types or pastes, as an address: a repo of the Hub with its revision and path, or a file on some server.
import { CoreError } from './errors';

export const HUB_ENDPOINT = 'https://huggingface.co';

export interface RepoAddress {
  kind: 'repo';
  /** owner/repo */
  repo: string;
  /** branch, tag, commit or refs/pr/N; null: the default branch */
  revision: string | null;
  /** a file, an index or a folder; "" for the repo as a whole */
  path: string;
}

export interface UrlAddress {
  kind: 'url';
  url: string;
}

export type Address = RepoAddress | UrlAddress;

const HUB_HOSTS = ['huggingface.co', 'www.huggingface.co', 'hf.co'];
const NAME = /^[A-Za-z0-9][\w.-]{0,95}$/;
const OTHER_KINDS = ['datasets', 'spaces', 'docs', 'collections', 'papers', 'blog', 'models', 'api'];

/** For telling an address from the path of a local file, where both may stand. */
export function looksRemote(text: string): boolean {
  return /^(https?|hf):\/\//i.test(text.trim());
}

/**
 * owner/repo, owner/repo@rev, owner/repo[@rev]/path, the same with hf:// before it, any page of the Hub, any other https
 * URL. `endpoint` is where the Hub is; pages of a mirror count as the Hub's. Errc: bad_address.
 */
export function parseAddress(text: string, endpoint = HUB_ENDPOINT): Address {
  const given = text.trim();
  if (given === '') throw bad(given, 'it is empty');
  if (/^hf:\/\//i.test(given)) return parseRepoPath(given.slice('hf://'.length), given);
  if (/^https?:\/\//i.test(given)) return parseUrl(given, endpoint);
  // huggingface.co/owner/repo without the scheme
  const host = given.slice(0, given.indexOf('/'));
  if (HUB_HOSTS.includes(host.toLowerCase())) return parseUrl(`https://${given}`, endpoint);
  return parseRepoPath(given, given);
}

function parseUrl(given: string, endpoint: string): Address {
  const url = urlOf(given);
  const path = pathOnHub(url, endpoint);
  if (path !== null) return parseHubPath(path, given);
  if (url.username !== '' || url.password !== '')
    throw bad(given, 'a name or a password in an address is not used here');
  if (url.protocol === 'http:' && !isLocal(url.hostname)) throw bad(given, 'only https is read');
  if (!/\.(safetensors|json)$/i.test(url.pathname) && !/\.safetensors\b/i.test(url.search)) {
    throw bad(given, 'it ends neither in .safetensors nor in .safetensors.index.json');
  }
  url.hash = '';
  return { kind: 'url', url: url.href };
}

/** Of a page of the Hub or of its mirror, which may stand below a path of its own; null: another site's. */
function pathOnHub(url: URL, endpoint: string): string | null {
  const base = new URL(endpoint);
  const root = base.pathname.replace(/\/$/, '');
  if (url.host === base.host && url.pathname.startsWith(`${root}/`)) return url.pathname.slice(root.length);
  return HUB_HOSTS.includes(url.host.toLowerCase()) ? url.pathname : null;
}

/** /owner/repo, /owner/repo/{tree,blob,resolve,raw,edit}/rev/path, /owner/repo/{discussions,commits,...}. */
function parseHubPath(pathname: string, given: string): RepoAddress {
  const segments = pathname
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => decoded(segment, given));
  if (segments[0] === 'models') segments.shift();
  const [owner = '', name = '', what, ...rest] = segments;
  if (OTHER_KINDS.includes(owner)) throw bad(given, `${owner} are not models`);
  const repo = repoName(owner, name, given);
  if (what === 'discussions' && /^\d+$/.test(rest[0] ?? '')) {
    return { kind: 'repo', repo, revision: `refs/pr/${rest[0]}`, path: '' };
  }
  if (what === undefined || !['tree', 'blob', 'resolve', 'raw', 'edit', 'commit', 'commits'].includes(what)) {
    return { kind: 'repo', repo, revision: null, path: '' };
  }
  const { revision, path } = splitRevision(rest);
  return { kind: 'repo', repo, revision, path: checkedPath(what.startsWith('commit') ? '' : path, given) };
}

/** owner/repo[@rev][/path] */
function parseRepoPath(text: string, given: string): RepoAddress {
  const [owner = '', nameAndRevision = '', ...rest] = text.replace(/\/+$/, '').split('/');
  const cut = nameAndRevision.indexOf('@');
  const name = cut < 0 ? nameAndRevision : nameAndRevision.slice(0, cut);
  const repo = repoName(owner, name, given);
  if (cut < 0) return { kind: 'repo', repo, revision: null, path: checkedPath(rest.join('/'), given) };
  const first = decoded(nameAndRevision.slice(cut + 1), given);
  if (first === '') throw bad(given, 'the revision after @ is empty');
  const { revision, path } = splitRevision([...first.split('/'), ...rest]);
  return { kind: 'repo', repo, revision, path: checkedPath(path, given) };
}

/** Branches have no slashes here, but refs/pr/1 and refs/convert/parquet do. */
function splitRevision(segments: readonly string[]): { revision: string | null; path: string } {
  const [first, ...rest] = segments;
  if (first === undefined) return { revision: null, path: '' };
  // %2F in a URL was decoded before: "refs/pr/1" may be one segment
  if (first.includes('/')) return { revision: first, path: rest.join('/') };
  const length = first === 'refs' && segments.length >= 3 ? 3 : 1;
  return { revision: segments.slice(0, length).join('/'), path: segments.slice(length).join('/') };
}

function repoName(owner: string, name: string, given: string): string {
  if (!NAME.test(owner) || !NAME.test(name)) throw bad(given, 'a repo is written owner/repo');
  return `${owner}/${name}`;
}

function checkedPath(path: string, given: string): string {
  if (path.split('/').some((segment) => segment === '..' || segment === '.'))
    throw bad(given, 'the path leaves the repo');
  return path;
}

function urlOf(given: string): URL {
  try {
    return new URL(given);
  } catch {
    throw bad(given, 'it is no URL');
  }
}

function decoded(segment: string, given: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw bad(given, 'its escapes are broken');
  }
}

export function isLocal(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]';
}

/** A mirror's address without what must not be in it; the Hub's when none is given. Errc: bad_address. */
export function checkedEndpoint(text: string): string {
  const url = urlOf(text.trim() || HUB_ENDPOINT);
  const isWeb = url.protocol === 'https:' || (url.protocol === 'http:' && isLocal(url.hostname));
  if (!isWeb || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw bad(text, 'an endpoint is an https address without a name, a query or a fragment');
  }
  return url.href.replace(/\/+$/, '');
}

function bad(given: string, reason: string): CoreError {
  return new CoreError('bad_address', given, `${given === '' ? 'the address' : given}: ${reason}`);
}
