// The page in each engine that can be had as a stock package, behind one small interface: choose a file, press,
// wait for an element, run something in the page, look into the downloads folder.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { serve } from '../../scripts/serve.mjs';
import { byId, CHROMIUM, FLAGS, ROOT } from './browser.mjs';
import { openMiniBrowser } from './webdriver.mjs';

const FIREFOX = process.env.FIREFOX ?? '/usr/bin/firefox-esr';

async function launch(url, options) {
  const browser = await puppeteer.launch({ headless: true, protocolTimeout: 600_000, ...options });
  const page = await browser.newPage();
  await page.goto(url);
  return {
    version: await browser.version(),
    pid: browser.process().pid,
    page,
    browser,
    evaluate: (run, ...args) => page.evaluate(run, ...args),
    reload: () => page.reload(),
    choose: async (selector, path) => (await page.waitForSelector(selector)).uploadFile(path),
    click: async (selector) => (await page.waitForSelector(selector, { visible: true })).click(),
    screenshot: (path) => page.screenshot({ path, fullPage: true }),
    close: () => browser.close(),
  };
}

async function openChromium(folder, url) {
  const downloads = mkdtempSync(join(folder, 'downloads-'));
  const userDataDir = mkdtempSync(join(folder, 'chromium-'));
  const opened = await launch(url, { executablePath: CHROMIUM, args: FLAGS, userDataDir });
  const session = await opened.browser.target().createCDPSession();
  await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: downloads });
  return { ...opened, downloads };
}

async function openFirefox(folder, url) {
  const downloads = mkdtempSync(join(folder, 'downloads-'));
  const opened = await launch(url, {
    browser: 'firefox',
    executablePath: FIREFOX,
    userDataDir: mkdtempSync(join(folder, 'firefox-')),
    extraPrefsFirefox: { 'browser.download.folderList': 2, 'browser.download.dir': downloads },
  });
  return { ...opened, downloads };
}

export const OPEN = { chromium: openChromium, firefox: openFirefox, webkit: openMiniBrowser };

/** The built page, or another folder, in one engine with a fresh profile. */
export async function openEngine(name, folder, root = join(ROOT, 'build/page')) {
  const site = await serve(root);
  const opened = await OPEN[name](folder, site.url);
  const waitFor = async (selector, timeout = 20_000) => {
    const end = Date.now() + timeout;
    for (;;) {
      const text = await opened.evaluate((wanted) => document.querySelector(wanted)?.textContent ?? null, selector);
      if (text !== null) return text.replace(/\s+/g, ' ').trim();
      if (Date.now() > end) {
        const says = await opened.evaluate(() => document.querySelector('main')?.textContent ?? '');
        throw new Error(`no ${selector} after ${timeout / 1000} s; the page says: ${says.slice(0, 600)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  return {
    ...opened,
    url: site.url,
    chooseFile: (path) => opened.choose(byId('file-input'), path),
    press: (id) => opened.click(byId(id)),
    textOf: (id, timeout) => waitFor(byId(id), timeout),
    waitFor,
    stopServing: site.close,
    close: async () => {
      await opened.close();
      await site.close();
    },
  };
}
