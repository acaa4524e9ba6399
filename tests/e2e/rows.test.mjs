// Long lists: what is looked at first is there before the rest of them is read.
import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { f32Bytes, layOut } from '../../scripts/lib/checkpoint.mjs';
import { byId, chooseFiles, openPage, scratchFolder } from './browser.mjs';

const WEIGHTS = 30_000;

/** fp8 weights with a scale each, the last one zero. The weights are holes. */
function makeLong(path) {
  const rows = [];
  for (let i = 0; i < WEIGHTS; i++) {
    const name = `blocks.${String(i).padStart(5, '0')}.weight`;
    rows.push({ name, dtype: 'F8_E4M3', shape: [16, 16], bytes: 256 });
    rows.push({ name: `${name}_scale`, dtype: 'F32', shape: [], bytes: 4 });
  }
  const { header, size } = layOut(rows);
  const file = openSync(path, 'w');
  ftruncateSync(file, size);
  writeSync(file, header);
  writeSync(file, f32Bytes(Array.from({ length: WEIGHTS }, (_, i) => (i === WEIGHTS - 1 ? 0 : 0.5))));
  closeSync(file);
}

describe('30,000 pairs in Chromium', { timeout: 120_000 }, () => {
  const folder = scratchFolder();
  let opened;
  before(async () => {
    opened = await openPage(folder.path);
  });
  after(async () => {
    await opened?.close();
    folder.clean();
  });

  test('the first stand in the table while the others are read, and the counts are of all', async () => {
    const { page } = opened;
    const path = join(folder.path, 'long.safetensors');
    makeLong(path);
    // what the table said of itself, each time that it changed
    await page.evaluate((table) => {
      window.said = [];
      new MutationObserver(() => {
        const section = document.querySelector(table)?.closest('section');
        const text = section?.querySelector('[role="status"]')?.textContent;
        if (text && text !== window.said.at(-1)) window.said.push(text);
      }).observe(document.body, { childList: true, subtree: true, characterData: true });
    }, byId('pairs-table'));
    await chooseFiles(page, path);
    await page.waitForFunction(() => window.said?.includes('30,000 pairs'), { timeout: 60_000 });
    const said = await page.evaluate(() => window.said);
    assert.deepEqual(said, ['2,000 of 30,000 pairs, the others are being read…', '30,000 pairs']);
    const chips = await page.$$eval('[aria-label="Pairs by state"] [data-chip]', (all) =>
      all.map((each) => each.textContent?.replace(/\s+/g, ' ').trim()),
    );
    assert.deepEqual(chips, ['all 30,000', 'ok 29,999', 'undecided 1']);
    assert.deepEqual(opened.faults, []);
  });
});
