// Stock Chromium on the built page, and what the tests need around it: downloads on disk, memory of all its processes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';
import { serve } from '../../scripts/serve.mjs';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const CLI = join(ROOT, 'web/cli/weighbridge.mjs');
const PAGE = join(ROOT, 'build/page');
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

const COMPARE_BYTES = 8 << 20;

export const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

export function cli(...args) {
  const run = spawnSync(process.execPath, [CLI, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.equal(run.status, 0, run.stderr);
  return run.stdout;
}

/** A folder of the test's own on disk; gone with clean(). */
export function scratchFolder() {
  const path = mkdtempSync(join(tmpdir(), 'weighbridge-e2e-'));
  return { path, clean: () => rmSync(path, { recursive: true, force: true }) };
}

/**
 * One browser, the page open in it, and a list of everything that went wrong in it. The profile is a fresh one unless
 * `profile` names one; private files of it are found again only at the same `port`.
 */
export async function openPage(
  folder,
  viewport = { width: 1280, height: 900 },
  { allow = [], profile = mkdtempSync(join(folder, 'profile-')), port = 0 } = {},
) {
  if (!existsSync(join(PAGE, 'index.html'))) throw new Error('no page in build/page: run `make build` first');
  const site = await serve(PAGE, port);
  const browser = await puppeteer.launch({
    executablePath: CHROMIUM,
    headless: true,
    args: FLAGS,
    userDataDir: profile,
    defaultViewport: viewport,
    protocolTimeout: 600_000,
  });
  const downloads = mkdtempSync(join(folder, 'downloads-'));
  const session = await browser.target().createCDPSession();
  await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: downloads });

  const page = await browser.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(`page error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = request.url();
    // nothing may leave: whatever is asked for, nothing is sent along
    if (request.hasPostData() || !['GET', 'HEAD', 'OPTIONS'].includes(request.method())) {
      faults.push(`${request.method()} to ${url}`);
    }
    const known = [site.url, ...allow].some((start) => url.startsWith(start));
    if (!known && !/^(blob|data):/.test(url)) faults.push(`a request to ${url}`);
  });
  await page.goto(site.url);
  return {
    page,
    url: site.url,
    browser,
    downloads,
    faults,
    close: async () => {
      await browser.close();
      await site.close();
    },
  };
}

export const byId = (id) => `[data-testid="${id}"]`;

/** The text of an element once it is there and not empty. */
export async function textOf(page, id, timeout = 20_000) {
  const handle = await page.waitForSelector(byId(id), { visible: true, timeout });
  const text = await handle.evaluate((element) => element.textContent ?? '');
  return text.replace(/\s+/g, ' ').trim();
}

export async function bytesOf(page, id) {
  const handle = await page.waitForSelector(byId(id), { timeout: 20_000 });
  const value = await handle.evaluate((element) => element.getAttribute('data-bytes'));
  if (!/^\d+$/.test(value ?? '')) throw new Error(`${id} has no data-bytes but ${value}`);
  return Number(value);
}

export async function chooseFiles(page, ...paths) {
  const input = await page.waitForSelector(byId('file-input'), { timeout: 20_000 });
  await input.uploadFile(...paths);
}

export async function press(page, id) {
  const handle = await page.waitForSelector(byId(id), { visible: true, timeout: 20_000 });
  await handle.click();
}

/** Everything the page keeps in its private file system, with sizes. */
export function privateFiles(page) {
  return page.evaluate(async () => {
    const walk = async (folder, path, found) => {
      for await (const [name, entry] of folder.entries()) {
        if (entry.kind === 'directory') await walk(entry, `${path}${name}/`, found);
        else found.push({ name: path + name, size: (await entry.getFile()).size });
      }
      return found;
    };
    // While the page asks how much room there is, a file comes and goes.
    for (const end = performance.now() + 10_000; ; ) {
      const found = await walk(await navigator.storage.getDirectory(), '', []).catch((error) => {
        if (error.name === 'NotFoundError') return null;
        throw error;
      });
      const asking = found === null || found.some(({ name }) => name.startsWith('room-'));
      if (!asking || performance.now() > end) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
}

/** The one finished download of at least `size` bytes. */
export async function downloaded(folder, size, timeout = 300_000) {
  const end = Date.now() + timeout;
  for (;;) {
    const names = readdirSync(folder);
    const done = names.filter((name) => !name.endsWith('.crdownload'));
    if (done.length === 1 && names.length === 1 && statSync(join(folder, done[0])).size >= size)
      return join(folder, done[0]);
    if (Date.now() > end) throw new Error(`no download of ${size} bytes after ${timeout / 1000} s; there is: ${names}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** The first byte at which two files differ, or -1. */
export function firstDifference(left, right) {
  const [a, b] = [openSync(left, 'r'), openSync(right, 'r')];
  const [x, y] = [Buffer.alloc(COMPARE_BYTES), Buffer.alloc(COMPARE_BYTES)];
  try {
    for (let at = 0; ; at += COMPARE_BYTES) {
      const [m, n] = [readSync(a, x, 0, COMPARE_BYTES, at), readSync(b, y, 0, COMPARE_BYTES, at)];
      if (m !== n || !x.subarray(0, m).equals(y.subarray(0, n))) {
        for (let i = 0; i < Math.max(m, n); i++) if (i >= m || i >= n || x[i] !== y[i]) return at + i;
      }
      if (m < COMPARE_BYTES) return -1;
    }
  } finally {
    closeSync(a);
    closeSync(b);
  }
}

// ---- memory, as the kernel counts it

function processTree(root) {
  const children = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      const parent = Number(fields[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // it ended meanwhile
    }
  }
  const tree = [root];
  for (let i = 0; i < tree.length; i++) tree.push(...(children.get(tree[i]) ?? []));
  return tree;
}

function kibOf(pid, field) {
  try {
    return Number(
      readFileSync(`/proc/${pid}/status`, 'utf8').match(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm'))?.[1] ?? 0,
    );
  } catch {
    return 0;
  }
}

/**
 * How far the processes of a browser, all below `root`, grow from now on: the sum over processes of (peak - resident now), from the peaks
 * that the kernel keeps, so nothing falls between two samples. A process that appears later counts in full.
 */
export function watchMemory(root) {
  const before = new Map();
  for (const pid of processTree(root)) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
    } catch {
      // it ended meanwhile
    }
    before.set(pid, kibOf(pid, 'VmRSS'));
  }
  return {
    growthMiB: () => {
      const grown = processTree(root).map((pid) => Math.max(0, kibOf(pid, 'VmHWM') - (before.get(pid) ?? 0)));
      return grown.reduce((sum, kib) => sum + kib, 0) / 1024;
    },
  };
}
