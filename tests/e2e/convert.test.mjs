// The whole product in stock Chromium: a file chosen by its path, what the page says about it, a converted file on disk.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statfsSync, statSync, unlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { bf16FromE4m3, layOut, readHeader } from '../../scripts/lib/checkpoint.mjs';
import { makeBig } from '../../scripts/make_big.mjs';
import {
  byId,
  bytesOf,
  CLI,
  chooseFiles,
  cli,
  downloaded,
  firstDifference,
  openPage,
  press,
  privateFiles,
  ROOT,
  scratchFolder,
  textOf,
  watchMemory,
} from './browser.mjs';

const GIB = Number(process.env.E2E_GIB ?? 1);
const EXAMPLES = join(ROOT, 'build/examples');
const STEP = 8 << 20;
const NEED_DISK = 8 * GIB * 2 ** 30 + 2 ** 30;
// Measured: 40 MiB, of which 10-30 are a browser's noise. A design that held the file would need a thousand.
const GROWTH_MIB_MAX = 150;
const PAUSE_MS_MAX = 500;
const MINUTES = 60_000;

/** Holds an output file against its source, computed here code by code: header, order, every byte. */
async function assertConverted(source, output) {
  const [from, to] = [await open(source), await open(output)];
  try {
    const { rows, metadata } = await readHeader(from);
    const byName = new Map(rows.map((row) => [row.name, row]));
    const kept = rows.filter((row) => !row.name.endsWith('.weight_scale'));
    const plan = layOut(
      kept.map((row) => {
        const bytes = row.end - row.begin;
        return row.dtype === 'F8_E4M3' ? { ...row, dtype: 'BF16', bytes: bytes * 2 } : { ...row, bytes };
      }),
      Object.fromEntries(Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1))),
    );
    assert.equal((await to.stat()).size, plan.size);
    const header = Buffer.alloc(plan.header.length);
    await to.read(header, 0, header.length, 0);
    assert.equal(header.toString('latin1'), plan.header.toString('latin1'));
    const chunk = Buffer.alloc(STEP);
    const read = Buffer.alloc(2 * STEP);
    const values = new Uint16Array(STEP);
    const wide = Buffer.from(values.buffer);
    for (const row of plan.rows) {
      const { begin, end, dtype } = byName.get(row.name);
      const lut = new Uint16Array(256);
      if (dtype === 'F8_E4M3') {
        const scale = Buffer.alloc(4);
        await from.read(scale, 0, 4, byName.get(`${row.name}_scale`).begin);
        lut.forEach((_, code) => {
          lut[code] = bf16FromE4m3(code, scale.readFloatLE());
        });
      }
      const width = row.bytes / (end - begin);
      for (let at = begin; at < end; at += STEP) {
        const codes = chunk.subarray(0, Math.min(STEP, end - at));
        await from.read(codes, 0, codes.length, at);
        // a plain loop: this runs once per weight of the file
        if (width === 2) for (let i = 0; i < codes.length; i++) values[i] = lut[codes[i]];
        const want = width === 2 ? wide.subarray(0, codes.length * 2) : codes;
        const got = read.subarray(0, want.length);
        await to.read(got, 0, got.length, row.begin + (at - begin) * width);
        assert.ok(got.equals(want), `${row.name} differs within ${STEP} bytes from byte ${at - begin}`);
      }
    }
  } finally {
    await from.close();
    await to.close();
  }
}

/** Starts counting how late the page's own timer fires: a busy main thread shows. */
function watchPauses(page) {
  return page.evaluate(() => {
    window.longestPause = 0;
    let last = performance.now();
    setInterval(() => {
      const now = performance.now();
      window.longestPause = Math.max(window.longestPause, now - last - 50);
      last = now;
    }, 50);
  });
}

async function answerDecisions(page) {
  await page.waitForSelector(byId('decision'), { visible: true, timeout: 20_000 });
  const choices = await page.$$(byId('decision-choice'));
  assert.ok(choices.length >= 1, 'a decision offers choices');
  await choices[0].click();
}

async function convertAndSave(open, size) {
  await press(open.page, 'target-bf16');
  await press(open.page, 'convert-button');
  await open.page.waitForSelector(byId('receipt'), { visible: true, timeout: 5 * MINUTES });
  // Where the file does not save itself, there is a link for it.
  if (readdirSync(open.downloads).length === 0) {
    const link = await open.page.$(byId('save-link'));
    if (link) await link.click();
  }
  return downloaded(open.downloads, size);
}

describe('the page in Chromium', { timeout: 20 * MINUTES }, () => {
  const folder = scratchFolder();
  let session;

  before(async () => {
    const disk = statfsSync(folder.path);
    assert.ok(
      disk.bavail * disk.bsize > NEED_DISK,
      `${(NEED_DISK / 2 ** 30).toFixed(0)} GiB of disk are needed in ${folder.path}`,
    );
  });
  after(async () => {
    await session?.close();
    folder.clean();
  });

  async function fresh(viewport) {
    await session?.close();
    session = undefined;
    session = await openPage(folder.path, viewport);
    return session;
  }

  test(`${GIB} GiB of scaled fp8: inspected, converted to a file on disk, in bounded memory`, async () => {
    const source = join(folder.path, 'big.safetensors');
    const { size_bytes: size, layers } = makeBig(source, { gib: GIB });
    const report = JSON.parse(cli('inspect', '--json', source));
    const parameters = layers * (4096 * 4096 + 4096) + 1024 * 4096;
    assert.equal(report.parameters, parameters);

    const { page, browser, faults, downloads } = await fresh();
    // Everything warm once, so that what grows afterwards is the big file's.
    await chooseFiles(page, join(EXAMPLES, 'krea-2.safetensors'));
    await textOf(page, 'verdict');
    unlinkSync(await convertAndSave({ page, downloads }, 1));
    await page.reload();

    const started = Date.now();
    await chooseFiles(page, source);
    await textOf(page, 'verdict');
    const shown = Date.now() - started;
    assert.ok(shown < 5000, `the report took ${shown} ms`);
    const digits = (text) => Number(text.replace(/[^\d]/g, ''));
    const has = async (id, number) => {
      const text = await textOf(page, id);
      assert.ok(
        digits(text) === number || text.includes(String(number)) || text.includes(number.toLocaleString('en')),
        `${id}: ${text}`,
      );
    };
    await has('tensor-count', report.tensor_count);
    assert.equal(await bytesOf(page, 'file-size'), size);
    assert.equal(await bytesOf(page, 'bf16-size'), report.bf16_data_bytes);
    const stages = report.ram.load_stages;
    assert.equal(await bytesOf(page, 'stage-file'), stages.file_read_bytes);
    assert.equal(await bytesOf(page, 'stage-f32'), stages.dequantized_f32_bytes);
    assert.equal(await bytesOf(page, 'stage-bf16'), stages.dequantized_bf16_bytes);
    assert.equal(await bytesOf(page, 'peak-f32'), stages.peak_f32_bytes);
    assert.equal(await bytesOf(page, 'peak-bf16'), stages.peak_bf16_bytes);
    for (const { dtype, bytes } of report.ram.per_dtype)
      assert.equal(await bytesOf(page, `ram-${dtype}`), bytes, dtype);
    assert.equal(await bytesOf(page, 'ram-bf16'), parameters * 2);
    assert.equal(await bytesOf(page, 'ram-f32'), parameters * 4);
    const pairs = await page.$$eval(byId('pair-row'), (rows) => rows.map((row) => row.textContent));
    assert.ok(
      pairs.length > 0 && pairs.every((text) => text.includes('blocks.') && text.includes('F8_E4M3')),
      pairs[0],
    );
    assert.ok(
      pairs.some((text) => text.includes('weight_scale')),
      'a pair names its scale',
    );

    await watchPauses(page);
    const memory = watchMemory(browser);
    const clock = Date.now();
    const output = await convertAndSave({ page, downloads }, report.bf16_data_bytes);
    const seconds = (Date.now() - clock) / 1000;
    const growth = memory.growthMiB();
    const pause = await page.evaluate(() => window.longestPause);
    console.log(
      `  ${(size / 2 ** 30).toFixed(2)} GiB in, ${(statSync(output).size / 2 ** 30).toFixed(2)} GiB saved in ${seconds.toFixed(1)} s;`,
      `memory of all browser processes grew ${growth.toFixed(0)} MiB; longest pause of the page ${pause.toFixed(0)} ms`,
    );
    await assertConverted(source, output);
    const other = join(folder.path, 'cli.safetensors');
    cli('convert', '--to', 'bf16', '-o', other, source);
    assert.equal(firstDifference(output, other), -1, 'page and command line write the same bytes');
    assert.ok(growth < GROWTH_MIB_MAX, `memory grew ${growth.toFixed(0)} MiB`);
    assert.ok(pause < PAUSE_MS_MAX, `the page stood still for ${pause.toFixed(0)} ms`);
    assert.deepEqual(faults, []);
  });

  test('cancel stops soon and leaves nothing', async () => {
    const { page, downloads, faults } = await fresh();
    await chooseFiles(page, join(folder.path, 'big.safetensors'));
    await textOf(page, 'verdict');
    await press(page, 'target-bf16');
    await press(page, 'convert-button');
    await page.waitForSelector(byId('progress'), { visible: true, timeout: 20_000 });
    await new Promise((resolve) => setTimeout(resolve, 700));
    await press(page, 'cancel-button');
    await page.waitForFunction((selector) => !document.querySelector(selector), { timeout: 5000 }, byId('progress'));
    assert.equal(await page.$(byId('receipt')), null, 'a cancelled conversion has no receipt');
    assert.deepEqual(await privateFiles(page), []);
    assert.deepEqual(readdirSync(downloads), []);
    // and the next one works
    await page.waitForSelector(byId('convert-button'), { visible: true });
    assert.deepEqual(faults, []);
  });

  test('a refused file is named for what it is', async () => {
    const { page, faults } = await fresh();
    await chooseFiles(page, join(ROOT, 'tests/vectors/a14_git_lfs_pointer.safetensors'));
    assert.match(await textOf(page, 'verdict'), /LFS/);
    assert.equal(
      await page.$(`${byId('convert-button')}:not([disabled]):not([aria-disabled="true"])`),
      null,
      'nothing to press',
    );
    assert.deepEqual(faults, []);
  });

  test('a lost scale asks before anything is written, and the answer is followed', async () => {
    const { page, downloads, faults } = await fresh();
    const source = join(EXAMPLES, 'lost-scale.safetensors');
    await chooseFiles(page, source);
    await textOf(page, 'verdict');
    await press(page, 'target-bf16');
    if (!(await page.$(byId('decision')))) await press(page, 'convert-button');
    assert.match(await textOf(page, 'decision'), /blocks\.1\.attn\.wv\.weight/);
    assert.deepEqual(readdirSync(downloads), []);
    await answerDecisions(page);
    const output = await convertAndSave({ page, downloads }, 1);

    const asked = spawnSync(
      process.execPath,
      [CLI, 'convert', '--json', '--to', 'bf16', '-o', join(folder.path, 'x.safetensors'), source],
      {
        encoding: 'utf8',
      },
    );
    assert.equal(asked.status, 3);
    const [{ subject, choices }] = JSON.parse(asked.stdout).decisions;
    const other = join(folder.path, 'assumed.safetensors');
    cli('convert', '--to', 'bf16', '-o', other, '--assume', `${subject}=${choices[0].choice}`, source);
    assert.ok(readFileSync(output).equals(readFileSync(other)), 'page and command line agree');
    assert.deepEqual(faults, []);
  });

  test('a narrow window loses nothing', async () => {
    const { page, faults } = await fresh({ width: 360, height: 740 });
    await chooseFiles(page, join(EXAMPLES, 'z-image.safetensors'));
    await textOf(page, 'verdict');
    const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(over <= 0, `${over} px wider than the window`);
    assert.deepEqual(faults, []);
  });
});
