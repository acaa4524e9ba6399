// A server that behaves as the Hugging Face Hub does, for tests in Node and in browsers: real HTTP, real redirects to
// another origin, real ranges. What it does of the Hub's doings, and what it can do wrong on demand:
//
//   GET /api/models/{repo}[/revision/{rev}]             commit sha, gated or not
//   GET /api/models/{repo}/tree/{rev}[/{folder}]        files with sizes and LFS hashes, in pages by Link headers
//   HEAD, GET /{repo}/raw/{rev}/{path}                  whether it is there; the LFS pointer of it
//   GET /{repo}/resolve/{rev}/{path}                    302 to a signed URL of the other origin, which expires
//   GET on the other origin                             Range, 206, ETag; also any file put there with `hub.place`
//
// `hub.fault({...})` makes the next matching requests go wrong; `hub.log` has every request, `hub.counts()` sums it up.
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { bytesContent } from './hub_content.mjs';

export { bytesContent, fileContent, sparseContent } from './hub_content.mjs';

// What the Hub and its CDN really expose to pages of other origins: neither Retry-After nor RateLimit.
const HUB_EXPOSES =
  'X-Repo-Commit,X-Request-Id,X-Error-Code,X-Error-Message,X-Total-Count,ETag,Link,Accept-Ranges,Content-Range,X-Linked-Size,X-Linked-ETag,X-Xet-Hash';
const CDN_EXPOSES = 'Accept-Ranges, Content-Range, Content-Type, Content-Disposition, ETag, X-Cache';

const sha1 = (text) => createHash('sha1').update(text).digest('hex');
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Starts both origins. Options: latencyMs (before every answer), pageSize (of the tree listing),
 * urlSeconds (life of a signed URL).
 */
export async function startHub({ latencyMs = 0, pageSize = 1000, urlSeconds = 3600 } = {}) {
  const hub = new Hub({ latencyMs, pageSize, urlSeconds });
  await hub.listen();
  return hub;
}

class Hub {
  constructor(options) {
    Object.assign(this, options);
    this.repos = new Map();
    this.placed = new Map();
    this.faults = [];
    this.log = [];
    this.inFlight = 0;
    this.mostInFlight = 0;
    /** signed URLs of an older key have expired */
    this.key = randomBytes(8).toString('hex');
    this.hubServer = createServer((request, response) => this.#answer('hub', request, response));
    this.cdnServer = createServer((request, response) => this.#answer('cdn', request, response));
  }

  async listen() {
    for (const server of [this.hubServer, this.cdnServer]) {
      server.keepAliveTimeout = 60_000;
      await new Promise((done) => server.listen(0, '127.0.0.1', done));
    }
    this.url = `http://localhost:${this.hubServer.address().port}`;
    // 127.0.0.1 and localhost on different ports: another origin in every respect
    this.cdnUrl = `http://127.0.0.1:${this.cdnServer.address().port}`;
  }

  async close() {
    for (const server of [this.hubServer, this.cdnServer]) {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    }
  }

  // ---- what is there

  /**
   * files: {path: Buffer | content}. Options: gated (false | 'auto'), private, token (that gets in), revisions ({name: sha}).
   * A file is in LFS, as on the Hub, when it is a .safetensors file or bigger than 10 MB.
   */
  addRepo(name, files, { gated = false, isPrivate = false, token = null, sha = sha1(name), revisions = {} } = {}) {
    const entries = Object.entries(files).map(([path, given]) => {
      const content = 'pieces' in given ? given : bytesContent(given);
      const isLfs = path.endsWith('.safetensors') || content.size > 10e6;
      return [path, { path, content, isLfs, etag: content.sha256 ?? sha1(`${name}/${path}/${content.size}`) }];
    });
    const repo = {
      name,
      files: new Map(entries),
      gated,
      isPrivate,
      token,
      sha,
      revisions: { main: sha, ...revisions },
    };
    this.repos.set(name, repo);
    return repo;
  }

  /** A file at an address of its own, outside the Hub: cdnUrl + path. */
  place(path, given, { cors = true } = {}) {
    const content = 'pieces' in given ? given : bytesContent(given);
    this.placed.set(path, { path, content, etag: content.sha256 ?? sha1(path + content.size), cors });
    return this.cdnUrl + path;
  }

  /** Every signed URL given out so far is refused from now on. */
  expireUrls() {
    this.key = randomBytes(8).toString('hex');
  }

  /**
   * at: 'hub' | 'cdn'; path: part of the path (all when absent); times: how often; skip: that many matching requests go
   * well before. kind: status {status, headers, body}, drop {afterBytes}, reset, short {afterBytes}, stall {afterBytes},
   * silence, slow {bytesPerMs}, wrong_range, ok200, gzip, gzip200, no_cors, etag {etag}, total {size}.
   */
  fault(rule) {
    this.faults.push({ at: 'cdn', path: '', times: 1, skip: 0, ...rule });
  }

  // ---- what was asked

  /** Requests and body bytes, of all or of the paths that contain `part`. */
  counts(part = '') {
    const rows = this.log.filter(({ path }) => path.includes(part));
    const of = (origin) => rows.filter((row) => row.origin === origin && row.method !== 'OPTIONS');
    const sum = (list) => list.reduce((total, { bytes }) => total + bytes, 0);
    return {
      hub: of('hub').length,
      resolve: of('hub').filter(({ path }) => path.includes('/resolve/')).length,
      cdn: of('cdn').length,
      preflights: rows.filter(({ method }) => method === 'OPTIONS').length,
      bytes: sum(rows),
      cdnBytes: sum(of('cdn')),
    };
  }

  forget() {
    this.log = [];
    this.mostInFlight = 0;
  }

  // ---- answering

  async #answer(origin, request, response) {
    const url = new URL(request.url, 'http://localhost');
    const path = decodeURIComponent(url.pathname);
    const row = { origin, method: request.method, path, range: request.headers.range ?? null, status: 0, bytes: 0 };
    row.authorization = request.headers.authorization ?? null;
    row.search = url.search;
    this.log.push(row);
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    response.on('close', () => {
      this.inFlight -= 1;
    });
    const end = (status, headers, body = '') => {
      row.status = status;
      row.bytes += Buffer.byteLength(body);
      response.writeHead(status, {
        ...this.#cors(origin, request),
        ...headers,
        'Content-Length': Buffer.byteLength(body),
      });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    try {
      if (this.latencyMs > 0) await wait(this.latencyMs);
      if (request.method === 'OPTIONS') {
        const asked = request.headers['access-control-request-headers'] ?? '';
        return end(204, { 'Access-Control-Allow-Headers': asked, 'Access-Control-Allow-Methods': 'GET,HEAD' });
      }
      const fault = this.#faultFor(origin, path);
      if (fault?.kind === 'silence') return;
      if (fault?.kind === 'reset') return request.socket.destroy();
      if (fault?.kind === 'no_cors') request.noCors = true;
      if (fault?.kind === 'status') return end(fault.status, fault.headers ?? {}, fault.body ?? '');
      if (origin === 'cdn') return await this.#cdn(request, response, url, path, row, fault, end);
      if (path.startsWith('/api/models/')) return this.#api(request, url, path.slice('/api/models/'.length), end);
      if (path.startsWith('/api/resolve-cache/models/')) {
        const [owner, name, , ...rest] = path.slice('/api/resolve-cache/models/'.length).split('/');
        const file = this.repos.get(`${owner}/${name}`)?.files.get(rest.join('/'));
        return await this.#send(request, response, file, row, fault, end);
      }
      return this.#resolve(request, path, end);
    } catch (error) {
      if (!response.headersSent) end(500, {}, String(error));
      else response.destroy();
    }
  }

  #faultFor(origin, path) {
    const rule = this.faults.find((each) => each.at === origin && path.includes(each.path) && each.times > 0);
    if (!rule) return null;
    if (rule.skip > 0) {
      rule.skip -= 1;
      return null;
    }
    rule.times -= 1;
    return rule;
  }

  #cors(origin, request) {
    const allowed = request.headers.origin;
    if (!allowed || request.noCors) return {};
    if (origin === 'cdn') return { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': CDN_EXPOSES };
    return { 'Access-Control-Allow-Origin': allowed, Vary: 'Origin', 'Access-Control-Expose-Headers': HUB_EXPOSES };
  }

  #api(request, url, rest, end) {
    const [owner, name, what, ...more] = rest.split('/');
    const repo = this.#repo(`${owner}/${name}`, request, end);
    if (!repo) return;
    if (what !== undefined && what !== 'revision' && what !== 'tree') return end(404, {}, '{"error":"Not Found"}');
    const { sha, left } = this.#revision(repo, what === undefined ? ['main'] : more);
    if (!sha) {
      const error = `Invalid rev id: ${more.join('/')}`;
      return end(404, { 'X-Error-Code': 'RevisionNotFound', 'X-Error-Message': error }, JSON.stringify({ error }));
    }
    const json = { 'Content-Type': 'application/json; charset=utf-8' };
    if (what !== 'tree') {
      const siblings = [...repo.files.keys()].map((rfilename) => ({ rfilename }));
      return end(
        200,
        json,
        JSON.stringify({ id: repo.name, sha, gated: repo.gated, private: repo.isPrivate, siblings }),
      );
    }
    return this.#tree(repo, url, left.join('/'), json, end);
  }

  /** A page of the listing; the cursor says how many came before. */
  #tree(repo, url, folder, json, end) {
    const first = Number(url.searchParams.get('cursor') ?? 0);
    const all = [...repo.files.values()].filter(({ path }) => folder === '' || path.startsWith(`${folder}/`));
    if (url.searchParams.get('recursive') !== 'true') throw new Error('this server lists recursively only');
    const rows = all.slice(first, first + this.pageSize).map(({ path, content, isLfs, etag }) => ({
      type: 'file',
      oid: sha1(path),
      size: content.size,
      ...(isLfs ? { lfs: { oid: content.sha256 ?? etag.padEnd(64, '0'), size: content.size, pointerSize: 135 } } : {}),
      path,
    }));
    const headers = { ...json };
    if (first + this.pageSize < all.length) {
      const next = new URL(url.pathname + url.search, this.url);
      next.searchParams.set('cursor', String(first + this.pageSize));
      headers.Link = `<${next.href}>; rel="next"`;
    }
    // directories stand among the files, as on the Hub
    const folders = first === 0 ? [...new Set(all.map(({ path }) => path.split('/').slice(0, -1).join('/')))] : [];
    const folderRows = folders
      .filter((path) => path !== '')
      .map((path) => ({ type: 'directory', oid: sha1(path), size: 0, path }));
    end(200, headers, JSON.stringify([...folderRows, ...rows]));
  }

  #resolve(request, path, end) {
    const match = /^\/([^/]+\/[^/]+)\/(?:resolve|(raw))\/(.+)$/.exec(path);
    if (!match) return end(404, {}, 'Not Found');
    const repo = this.#repo(match[1], request, end);
    if (!repo) return;
    const { sha, left } = this.#revision(repo, match[3].split('/'));
    const file = sha ? repo.files.get(left.join('/')) : undefined;
    if (!file)
      return end(404, { 'X-Error-Code': 'EntryNotFound', 'X-Error-Message': 'Entry not found' }, 'Entry not found');
    const token = this.#token(request);
    if (repo.gated && (token === null || token !== repo.token)) {
      const message = `Access to model ${repo.name} is restricted. You must have access to it and be authenticated to access it. Please log in.`;
      return end(token === null ? 401 : 403, { 'X-Error-Code': 'GatedRepo', 'X-Error-Message': message }, message);
    }
    const linked = {
      'X-Repo-Commit': sha,
      'X-Linked-Size': String(file.content.size),
      'X-Linked-ETag': `"${file.etag}"`,
      'Accept-Ranges': 'bytes',
    };
    if (match[2]) {
      const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${file.etag}\nsize ${file.content.size}\n`;
      return end(200, {}, pointer);
    }
    if (!file.isLfs) {
      return end(307, {
        ...linked,
        Location: `/api/resolve-cache/models/${repo.name}/${sha}/${encodePath(file.path)}`,
      });
    }
    const expires = Math.floor(Date.now() / 1000) + this.urlSeconds;
    const query = `Expires=${expires}&Key-Pair-Id=${this.key}&Signature=${sha1(file.path + this.key + expires)}`;
    return end(302, { ...linked, Location: `${this.cdnUrl}/repos/${repo.name}/${encodePath(file.path)}?${query}` });
  }

  /** Without a good token a private repo does not exist. */
  #repo(name, request, end) {
    const repo = this.repos.get(name);
    if (repo && (!repo.isPrivate || this.#token(request) === repo.token)) return repo;
    const status = this.#token(request) === null ? 401 : 404;
    const error = status === 401 ? 'Invalid username or password.' : 'Repository not found';
    end(status, { 'X-Error-Code': 'RepoNotFound', 'X-Error-Message': error }, JSON.stringify({ error }));
    return null;
  }

  #token(request) {
    return /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? null;
  }

  /** The longest beginning of the segments that names a revision: refs/pr/1 has slashes of its own. */
  #revision(repo, segments) {
    for (let count = Math.min(3, segments.length); count > 0; count--) {
      const name = segments.slice(0, count).join('/');
      const sha = repo.revisions[name] ?? (Object.values(repo.revisions).includes(name) ? name : undefined);
      if (sha) return { sha, left: segments.slice(count) };
    }
    return { sha: null, left: [] };
  }

  async #cdn(request, response, url, path, row, fault, end) {
    const placed = this.placed.get(path);
    if (placed) {
      if (!placed.cors) request.noCors = true;
      return this.#send(request, response, placed, row, fault, end);
    }
    const match = /^\/repos\/([^/]+\/[^/]+)\/(.+)$/.exec(path);
    const file = match ? this.repos.get(match[1])?.files.get(match[2]) : undefined;
    if (!file) return end(404, {}, 'NoSuchKey');
    const expires = url.searchParams.get('Expires');
    const good = url.searchParams.get('Signature') === sha1(file.path + this.key + expires);
    if (!good || Number(expires) < Date.now() / 1000) return end(403, {}, '<Error><Code>AccessDenied</Code></Error>');
    return this.#send(request, response, file, row, fault, end);
  }

  async #send(request, response, file, row, fault, end) {
    if (!file) return end(404, {}, 'Not Found');
    const { content } = file;
    const size = fault?.kind === 'total' ? fault.size : content.size;
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const begin = range ? Number(range[1]) : 0;
    const stop = range && range[2] !== '' ? Math.min(Number(range[2]) + 1, content.size) : content.size;
    const headers = {
      ...this.#cors(row.origin, request),
      'Accept-Ranges': 'bytes',
      'Content-Type': 'application/octet-stream',
      ETag: `"${fault?.kind === 'etag' ? fault.etag : file.etag}"`,
    };
    if (range && begin >= content.size) return end(416, { ...headers, 'Content-Range': `bytes */${size}` });
    const whole = !range || fault?.kind === 'ok200' || fault?.kind === 'gzip200';
    const from = whole ? 0 : begin;
    const to = whole ? content.size : stop;
    if (!whole) {
      const shift = fault?.kind === 'wrong_range' ? 1 : 0;
      headers['Content-Range'] = `bytes ${from + shift}-${to - 1 + shift}/${size}`;
    }
    row.status = whole ? 200 : 206;
    if (fault?.kind === 'gzip' || fault?.kind === 'gzip200') {
      const parts = [];
      for await (const piece of content.pieces(from, to)) parts.push(piece);
      const body = gzipSync(Buffer.concat(parts));
      row.bytes += body.length;
      response.writeHead(row.status, { ...headers, 'Content-Encoding': 'gzip', 'Content-Length': body.length });
      return response.end(body);
    }
    // a body that ends early yet cleanly is only possible without a length
    response.writeHead(row.status, fault?.kind === 'short' ? headers : { ...headers, 'Content-Length': to - from });
    response.flushHeaders();
    if (request.method === 'HEAD') return response.end();
    return this.#body(response, content, from, to, row, fault);
  }

  async #body(response, content, from, to, row, fault) {
    const cut = ['drop', 'short', 'stall'].includes(fault?.kind) ? from + fault.afterBytes : Infinity;
    const goesOn = () => !response.destroyed && !response.writableEnded;
    for await (const piece of content.pieces(from, Math.min(to, cut))) {
      if (!goesOn()) return;
      row.bytes += piece.length;
      if (fault?.kind === 'slow') await wait(piece.length / fault.bytesPerMs);
      if (!response.write(piece)) await drained(response);
    }
    if (!goesOn()) return;
    if (fault?.kind === 'stall') return;
    if (fault?.kind === 'drop') {
      // what was written must be on its way before the connection goes
      await wait(20);
      response.destroy();
      return;
    }
    response.end();
  }
}

function drained(response) {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}

function encodePath(path) {
  return path.split('/').map(encodeURIComponent).join('/');
}
