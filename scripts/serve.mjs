// Serves a folder of static files, on this machine only, with the headers that the page is meant to have anywhere.
//
//   node scripts/serve.mjs [FOLDER]      PORT=8017 by default; PORT=0 takes a free one
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HEADERS } from './policy.mjs';

const MIME_TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.safetensors': 'application/octet-stream',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

export { HEADERS };

function fileFor(root, url) {
  let path;
  try {
    path = decodeURIComponent(new URL(url, 'http://localhost').pathname);
  } catch {
    return null;
  }
  const file = resolve(join(root, normalize(path)));
  if (file !== root && !file.startsWith(root + sep)) return null;
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory()) return fileFor(root, `${path.replace(/\/*$/, '')}/index.html`);
  return found?.isFile() ? { file, size: found.size } : null;
}

/** Starts serving `folder`; resolves to {url, close}. */
export function serve(folder, port = 0) {
  const root = resolve(folder);
  const server = createServer((request, response) => {
    const known = request.method === 'GET' || request.method === 'HEAD';
    const found = known ? fileFor(root, request.url ?? '/') : null;
    if (!found) {
      response.writeHead(known ? 404 : 405, { ...HEADERS, 'Content-Type': 'text/plain; charset=utf-8' });
      response.end(known ? 'not found\n' : 'only GET and HEAD\n');
      return;
    }
    response.writeHead(200, {
      ...HEADERS,
      'Content-Type': MIME_TYPES[extname(found.file)] ?? 'application/octet-stream',
      'Content-Length': found.size,
      // names with a hash in them never change
      'Cache-Control': /-[\w-]{8}\.\w+$/.test(found.file) ? 'public, max-age=31536000, immutable' : 'no-cache',
    });
    if (request.method === 'HEAD') response.end();
    else
      createReadStream(found.file)
        .on('error', () => response.destroy())
        .pipe(response);
  });
  return new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', () => {
      const close = () =>
        new Promise((closed) => {
          server.close(closed);
          server.closeAllConnections();
        });
      done({ url: `http://localhost:${server.address().port}/`, close });
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? 'build/page';
  if (!statSync(join(folder, 'index.html'), { throwIfNoEntry: false })) {
    console.error(`no page in ${folder}: run \`make build\` first`);
    process.exit(1);
  }
  try {
    const { url } = await serve(folder, Number(process.env.PORT ?? 8017));
    console.log(`\n  Weighbridge is at ${url}\n  Ctrl-C stops it.\n`);
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error;
    console.error(`port ${process.env.PORT ?? 8017} is taken: PORT=8018 make run, for example`);
    process.exit(1);
  }
}
