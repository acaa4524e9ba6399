// Questions in stock Chromium: what each answer would give, side by side, before anything is written; and the second
// recipe, which is written into the receipt and into the file.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { byId, chooseFiles, downloaded, openPage, press, ROOT, scratchFolder, textOf } from './browser.mjs';

const CLI = join(ROOT, 'web/cli/weighbridge.mjs');
const UNDECIDED = join(ROOT, 'tests/cases/E09/model.safetensors');
const SCHEMES = join(ROOT, 'tests/golden/schemes');
/** SCREENSHOTS=folder keeps pictures to look at. */
const PICTURES = process.env.SCREENSHOTS ?? '';

async function picture(page, name) {
  if (PICTURES === '') return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

async function choose(page, id, index = 0) {
  await page.waitForSelector(byId(id), { visible: true });
  await (await page.$$(byId(id)))[index].click();
}

describe('questions', () => {
  let folder;
  let page;
  let view;

  before(async () => {
    folder = scratchFolder();
    view = await openPage(folder.path);
    ({ page } = view);
  });

  after(async () => {
    assert.deepEqual(view.faults, []);
    await view.close();
    folder.clean();
  });

  test('each answer is previewed with its histogram, and the other answers count', async () => {
    await chooseFiles(page, UNDECIDED);
    await choose(page, 'preview-button', 0);
    await page.waitForFunction((selector) => document.querySelectorAll(selector).length === 2, {}, byId('preview'));
    const texts = await page.$$eval(byId('preview'), (all) => all.map((each) => each.textContent));
    assert.match(texts[0], /^low.*largest.*rms.*first0\.500, 0\.250, 0\.500, 0\.250/s);
    assert.match(texts[1], /^high.*first0\.250, 0\.500, 0\.250, 0\.500/s);
    const bars = await page.$$eval('.histogram', (all) => all.map((each) => each.childElementCount));
    assert.deepEqual(bars, [5, 5]); // 2^-2 to 2^2
    await picture(page, 'previews-1280-light');
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    await page.setViewport({ width: 360, height: 800 });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels wider than the screen`);
    await picture(page, 'previews-360-dark');
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
    await page.setViewport({ width: 1280, height: 900 });
  });

  test('the second recipe is named in the receipt, and the file is the command line’s', async () => {
    const source = join(SCHEMES, 'ck-float8-e4m3-in-metadata/model.safetensors');
    await chooseFiles(page, source);
    await choose(page, 'target-bf16');
    await page.waitForFunction(() =>
      [...document.querySelectorAll('button')].some((b) => b.textContent?.startsWith('Arithmetic')),
    );
    await page.evaluate(() =>
      [...document.querySelectorAll('button')].find((b) => b.textContent?.startsWith('Arithmetic')).click(),
    );
    await choose(page, 'recipe-target-mul-rne');
    await page.waitForSelector(`${byId('convert-button')}:not([disabled])`);
    await press(page, 'convert-button');
    await page.waitForSelector(byId('receipt'), { timeout: 30_000 });
    assert.match(await textOf(page, 'receipt'), /target-mul-rne/);
    await picture(page, 'recipe-receipt-1280-light');
    const expected = join(folder.path, 'expected.safetensors');
    const run = spawnSync('node', [
      CLI,
      'convert',
      '--to',
      'bf16',
      '--recipe',
      'target-mul-rne',
      '-o',
      expected,
      source,
    ]);
    assert.equal(run.status, 0, run.stderr.toString());
    await press(page, 'save-link');
    const saved = await downloaded(view.downloads, 1);
    assert.ok(existsSync(saved));
    assert.deepEqual(readFileSync(saved), readFileSync(expected));
  });

  test('packed integers show their formula and their parameters', async () => {
    await chooseFiles(
      page,
      join(SCHEMES, 'gptq-int4-desc-act/model.safetensors'),
      join(SCHEMES, 'gptq-int4-desc-act/config.json'),
    );
    await page.waitForFunction(() => document.body.textContent?.includes('g_idx[c]'));
    assert.match(
      await page.evaluate(() => document.body.textContent),
      /\(int\(code\[c,r\]\) - \(qzeros\[g,r\] \+ 1\)\) \* scales\[g_idx\[c\],r\]/,
    );
    await picture(page, 'gptq-1280-light');
  });
});
