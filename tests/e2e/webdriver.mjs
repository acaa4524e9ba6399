// WebKitGTK's MiniBrowser by its own driver, spoken to in plain WebDriver. It needs a display and a session bus, and
// gets its own of both.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

const MINI_BROWSER = process.env.MINIBROWSER ?? '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser';
const START_MS_MAX = 30_000;
const FIND_MS_MAX = 20_000;

/** A home of its own, so that downloads go where the test looks for them. */
function makeHome(folder) {
  const home = mkdtempSync(join(folder, 'webkit-'));
  for (const name of ['runtime', 'downloads', 'config']) mkdirSync(join(home, name), { mode: 0o700 });
  writeFileSync(join(home, 'config/user-dirs.dirs'), 'XDG_DOWNLOAD_DIR="$HOME/downloads"\n');
  return home;
}

async function startDisplay() {
  const server = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1400x1000x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const number = await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('exit', () => reject(new Error('Xvfb did not start')));
    server.stdio[3].once('data', (text) => resolve(String(text).trim()));
  });
  return { display: `:${number}`, stop: () => server.kill() };
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

class Session {
  #address;

  constructor(address) {
    this.#address = address;
  }

  async call(method, path, body) {
    const response = await fetch(this.#address + path, { method, body: body && JSON.stringify(body) });
    const { value } = await response.json();
    if (value?.error) throw new Error(`${path}: ${value.error}: ${value.message}`);
    return value;
  }

  async begin() {
    const options = { binary: MINI_BROWSER, args: ['--automation'] };
    const wanted = { capabilities: { alwaysMatch: { 'webkitgtk:browserOptions': options } } };
    const end = Date.now() + START_MS_MAX;
    for (;;) {
      try {
        const { sessionId, capabilities } = await this.call('POST', '/session', wanted);
        this.#address += `/session/${sessionId}`;
        return `WebKitGTK ${capabilities.browserVersion}`;
      } catch (failed) {
        if (Date.now() > end) throw failed;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
  }

  async element(selector) {
    return Object.values(await this.call('POST', '/element', { using: 'css selector', value: selector }))[0];
  }
}

/** MiniBrowser, started, with what engines.mjs asks of every browser. */
export async function openMiniBrowser(folder, url) {
  const home = makeHome(folder);
  const { display, stop } = await startDisplay();
  const port = await freePort();
  const driver = spawn('dbus-run-session', ['--', 'WebKitWebDriver', `--port=${port}`], {
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      HOME: home,
      XDG_CONFIG_HOME: join(home, 'config'),
      XDG_RUNTIME_DIR: join(home, 'runtime'),
      DISPLAY: display,
      LIBGL_ALWAYS_SOFTWARE: '1',
      WEBKIT_DISABLE_COMPOSITING_MODE: '1',
    },
  });
  const session = new Session(`http://127.0.0.1:${port}`);
  const version = await session.begin();
  await session.call('POST', '/timeouts', { implicit: FIND_MS_MAX, script: 300_000 });
  await session.call('POST', '/url', { url });
  const evaluate = (run, ...args) =>
    session.call('POST', '/execute/async', {
      script: `const done = arguments[arguments.length - 1];
        Promise.resolve((${run})(...[...arguments].slice(0, -1))).then(done, (e) => done({ thrown: String(e) }));`,
      args,
    });
  return {
    version,
    downloads: join(home, 'downloads'),
    pid: driver.pid,
    evaluate,
    reload: () => session.call('POST', '/refresh', {}),
    choose: async (selector, path) =>
      session.call('POST', `/element/${await session.element(selector)}/value`, { text: path }),
    click: async (selector) => session.call('POST', `/element/${await session.element(selector)}/click`, {}),
    screenshot: async (path) => writeFileSync(path, Buffer.from(await session.call('GET', '/screenshot'), 'base64')),
    close: async () => {
      await session.call('DELETE', '').catch(() => {});
      driver.kill();
      stop();
    },
  };
}
