// The Hub's interface against the test server: commits, listings in pages, what may be opened, what it costs.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { loadCore } from '../../web/cli/core_loader';
import { CoreError } from '../../web/engine/errors';
import { choose, inputOf, layOutTree } from '../../web/engine/file_tree';
import type { Core } from '../../web/engine/heap';
import { HttpClient } from '../../web/engine/http_client';
import { Hub, nextPage } from '../../web/engine/hub';
import { Checkpoint } from '../../web/engine/pipeline';
import { chooseRemote, findRemote, type RemoteOptions } from '../../web/engine/remote_tree';
import type { Report } from '../../web/engine/report';
import { deepseekSet, SHARDS } from '../support/deepseek_set.mjs';
import { bytesContent, startHub, type TestHub } from '../support/hub_server.mjs';
import { fp8Weight, safetensors, scalar } from './checkpoints';

vi.setConfig({ testTimeout: 30_000 });

const CASES = new URL('../cases/', import.meta.url);
const CORE = new URL('../../build/wasm-release/', import.meta.url);
const MODEL = safetensors({ 'a.weight': fp8Weight(16, 32), 'a.weight_scale': scalar(0.5) });
const PLAIN = safetensors({ 'b.weight': { dtype: 'BF16', shape: [4], bytes: new Uint8Array(8) } });

let hub: TestHub;
let core: Core;

beforeAll(async () => {
  hub = await startHub({ pageSize: 5 });
  core = await loadCore(CORE);
});
afterAll(() => hub.close());
beforeEach(() => {
  hub.forget();
  hub.faults = [];
});

function options(token: string | null = null): RemoteOptions {
  const client = new HttpClient({ hubOrigin: hub.url, token, sleep: async () => {} });
  return { client, endpoint: hub.url };
}

async function open(address: string, name?: string, given: RemoteOptions = options()): Promise<Report> {
  const place = await findRemote(core, address, given);
  const layout = await layOutTree(core, place.tree);
  const choice = chooseRemote(layout, place, address, name);
  const checkpoint = await Checkpoint.open(core, await inputOf(place.tree, choice));
  const report = checkpoint.report();
  await checkpoint.close();
  return report;
}

async function codeOf(run: Promise<unknown>): Promise<string> {
  return run.then(
    () => 'nothing',
    (thrown: unknown) => (thrown instanceof CoreError ? thrown.code : String(thrown)),
  );
}

function addCase(name: string): void {
  const folder = new URL(`${name}/`, CASES);
  const files = readdirSync(folder).map((file) => [file, readFileSync(new URL(file, folder))] as const);
  hub.addRepo(`cases/${name}`, Object.fromEntries(files));
}

test('a branch is pinned to its commit; everything after that asks for the commit', async () => {
  const repo = hub.addRepo('o/one', { 'model.safetensors': MODEL, 'config.json': Buffer.from('{}') });
  const report = await open('o/one');
  expect(report).toMatchObject({ verdict: 'sound', tensor_count: 2 });
  expect(report.config.map(({ name }) => name)).toEqual(['config.json']);
  const asked = hub.log.filter(({ origin, path }) => origin === 'hub' && !path.includes('resolve-cache'));
  expect(asked.map(({ path }) => path)).toEqual([
    '/api/models/o/one',
    `/api/models/o/one/tree/${repo.sha}`,
    `/o/one/resolve/${repo.sha}/config.json`,
    `/o/one/resolve/${repo.sha}/model.safetensors`,
  ]);
  expect(report.traffic).toMatchObject({ requests: 4, retries: 0 });
});

test('a pull request, a tag, a commit, and one that is not there', async () => {
  const sha = 'a'.repeat(40);
  hub.addRepo('o/rev', { 'model.safetensors': MODEL }, { revisions: { 'refs/pr/3': sha, v1: sha } });
  for (const address of [
    'o/rev@refs/pr/3',
    `o/rev@${sha}`,
    `${hub.url}/o/rev/tree/v1`,
    `${hub.url}/o/rev/discussions/3`,
  ]) {
    const place = await findRemote(core, address, options());
    expect(place.repo?.sha).toBe(sha);
  }
  expect(await codeOf(open('o/rev@nothing'))).toBe('not_found');
  expect(await codeOf(open('o/rev/missing.safetensors'))).toBe('not_found');
});

test('a listing of many pages, with LFS sizes and hashes', async () => {
  const names = Array.from({ length: 23 }, (_, i) => `part/${String(i).padStart(2, '0')}.json`);
  const files = Object.fromEntries(names.map((name) => [name, Buffer.from(name)]));
  hub.addRepo('o/pages', { ...files, 'model.safetensors': MODEL });
  const { client } = options();
  const api = new Hub(client, hub.url);
  const list = await api.list(await api.pin({ repo: 'o/pages', revision: null }));
  expect(list.map(({ path }) => path).sort()).toEqual([...names, 'model.safetensors'].sort());
  const model = list.find(({ path }) => path === 'model.safetensors');
  expect(model).toEqual({ path: 'model.safetensors', size: MODEL.length, sha256: bytesContent(MODEL).sha256 });
  expect(hub.log.filter(({ path }) => path.includes('/tree/'))).toHaveLength(5);
});

test('a link to a next page never leads to another origin', () => {
  expect(
    nextPage('<https://huggingface.co/api/models/o/r/tree/x?cursor=a>; rel="next"', 'https://mirror.test/hf'),
  ).toBe('https://mirror.test/hf/api/models/o/r/tree/x?cursor=a');
  expect(nextPage('<https://evil.test/else>; rel="next"', 'https://huggingface.co')).toBe(null);
  expect(nextPage('<https://huggingface.co/api/models/o/r>; rel="prev"', 'https://huggingface.co')).toBe(null);
  expect(nextPage(null, 'https://huggingface.co')).toBe(null);
});

test('every layout of a repo: variants side by side, a pipeline, split files', async () => {
  hub.addRepo('o/variants', {
    'model_fp8.safetensors': MODEL,
    'model_bf16.safetensors': PLAIN,
    'split_files/vae/ae.safetensors': PLAIN,
    'README.md': Buffer.from('# words'),
    'old.ckpt': Buffer.from('x'),
  });
  const place = await findRemote(core, 'o/variants', options());
  const layout = await layOutTree(core, place.tree);
  expect(layout.choices.map(({ id, bytes }) => [id, bytes])).toEqual([
    ['model_bf16.safetensors', PLAIN.length],
    ['model_fp8.safetensors', MODEL.length],
    ['split_files/vae/ae.safetensors', PLAIN.length],
  ]);
  expect(layout.ignored.map(({ path }) => path)).toContain('old.ckpt');
  expect(await codeOf(open('o/variants'))).toBe('choice_needed');
  expect((await open('o/variants', 'model_fp8.safetensors')).tensor_count).toBe(2);
  expect((await open('o/variants/model_bf16.safetensors')).tensor_count).toBe(1);
  expect((await open('o/variants/split_files')).tensor_count).toBe(1);

  hub.addRepo('o/pipeline', {
    'model_index.json': Buffer.from('{"_class_name":"P","vae":["d","A"],"unet":["d","B"]}'),
    'unet/diffusion_pytorch_model.safetensors': MODEL,
    'unet/config.json': Buffer.from('{}'),
    'vae/diffusion_pytorch_model.safetensors': PLAIN,
    'vae/config.json': Buffer.from('{}'),
  });
  const pipeline = await layOutTree(core, (await findRemote(core, 'o/pipeline', options())).tree);
  expect(pipeline.choices.map(({ kind, bytes }) => [kind, bytes])).toEqual([['pipeline', MODEL.length + PLAIN.length]]);
  expect((await open('o/pipeline/unet')).tensor_count).toBe(2);
});

test('B01: a weight and its scale in two shards; one shard alone says where its scale is', async () => {
  addCase('B01');
  const whole = await open('cases/B01');
  expect(whole).toMatchObject({ verdict: 'sound', pair_counts: { weights: 1, ok: 1 } });
  // commit, two pages of the listing at most, index, config, one request a shard
  expect(hub.counts().cdn).toBe(2);
  const alone = await open('cases/B01/model-00001-of-00002.safetensors');
  expect(JSON.stringify(alone)).toContain('model-00002-of-00002.safetensors');
});

test('B02, B03, B05: a missing shard, a phantom tensor, a stray copy, told of a repo as of a folder', async () => {
  for (const name of ['B02', 'B03', 'B05']) addCase(name);
  expect(await open('cases/B02')).toMatchObject({ error: { code: 'shard_missing' } });
  expect(JSON.stringify(await open('cases/B03'))).toContain('mtp.fc.weight');
  const beside = await open('cases/B05');
  expect(beside).toMatchObject({ tensor_count: 2, data_bytes: 8, parameters: 4 });
});

test('a truncated file is refused before anything of it is fetched', async () => {
  hub.addRepo('o/cut', { 'model.safetensors': MODEL.subarray(0, MODEL.length - 100) });
  expect(await open('o/cut')).toMatchObject({ verdict: 'refused', error: { code: 'truncated_data' } });
  expect(hub.counts().cdn).toBe(1);
});

test('gated and private: what to do is said, and a good token opens them', async () => {
  hub.addRepo('o/gated', { 'model.safetensors': MODEL }, { gated: 'auto', token: 'hf_good' });
  hub.addRepo('o/private', { 'model.safetensors': MODEL }, { isPrivate: true, token: 'hf_good' });
  const refused = await open('o/gated').catch((thrown: unknown) => thrown as CoreError);
  expect(refused).toMatchObject({ code: 'login_required' });
  expect((refused as CoreError).message).toContain(`${hub.url}/o/gated`);
  expect(await codeOf(open('o/gated', undefined, options('hf_bad')))).toBe('access_denied');
  expect(await codeOf(open('o/private'))).toBe('login_required');
  expect(await codeOf(open('o/private', undefined, options('hf_bad')))).toBe('not_found');
  hub.forget();
  for (const name of ['o/gated', 'o/private'])
    expect(await codeOf(open(name, undefined, options('hf_good')))).toBe('nothing');
  const leaked = hub.log.filter(({ origin, authorization }) => origin === 'cdn' && authorization !== null);
  expect(leaked).toEqual([]);
});

test('a file and an index at any address; what the index names is looked for beside it only', async () => {
  const one = hub.place('/files/model.safetensors', MODEL);
  // the file, and three times that nothing stands beside it
  expect(await open(one)).toMatchObject({ tensor_count: 2, warnings: [], traffic: { requests: 4, retries: 0 } });
  const folder = fileURLToPath(new URL('B01/', CASES));
  for (const file of readdirSync(folder)) hub.place(`/set/${file}`, readFileSync(folder + file));
  const set = await open(`${hub.cdnUrl}/set/model.safetensors.index.json`);
  expect(set).toMatchObject({ verdict: 'sound', pair_counts: { ok: 1 } });
  expect(set.traffic?.requests).toBe(6);

  const evil = Buffer.from(JSON.stringify({ weight_map: { a: '../files/model.safetensors' } }));
  hub.place('/evil/model.safetensors.index.json', evil);
  hub.forget();
  expect(await codeOf(open(`${hub.cdnUrl}/evil/model.safetensors.index.json`))).not.toBe('nothing');
  expect(hub.log.every(({ path }) => path.startsWith('/evil/'))).toBe(true);
});

test('what stands beside a lone file is read with it, and the token stays at home', async () => {
  const config = { tie_word_embeddings: false, quantization_config: { quant_method: 'fp8' } };
  const beside = async (at: string, fault?: Parameters<typeof hub.fault>[0]): Promise<string[]> => {
    hub.forget();
    hub.faults = [];
    const url = hub.place(`${at}/model.safetensors`, MODEL);
    if (fault) hub.fault({ path: `${at}/config.json`, times: 1, ...fault });
    const place = await findRemote(core, `${url}?download=true`, options('hf_good'));
    const tree = await layOutTree(core, place.tree);
    const input = await inputOf(place.tree, choose(tree, url, tree.preferred ?? ''));
    for (const source of input.sources) await source.close();
    expect(hub.log.every(({ authorization, path }) => authorization === null && path.startsWith(`${at}/`))).toBe(true);
    return input.sideFiles.map(({ name }) => name).sort();
  };
  hub.place('/gptq/config.json', Buffer.from(JSON.stringify(config)));
  hub.place('/gptq/quantize_config.json', Buffer.from('{"bits": 4}'));
  expect(await beside('/gptq')).toEqual(['config.json', 'quantize_config.json']);
  expect(await beside('/none')).toEqual([]);
  // absent, in the words of some servers
  expect(await beside('/gptq', { kind: 'status', status: 403 })).toEqual(['quantize_config.json']);
  expect(await beside('/gptq', { kind: 'status', status: 200, body: '<!doctype html>' })).toEqual([
    'quantize_config.json',
  ]);
});

test('answers that make no sense', async () => {
  hub.addRepo('o/odd', { 'model.safetensors': MODEL });
  const bodies = ['<html>', '{"sha": 5}', '[]'];
  for (const body of bodies) {
    hub.fault({ at: 'hub', path: '/api/', kind: 'status', status: 200, body });
    expect(await codeOf(open('o/odd'))).toBe('bad_answer');
  }
  hub.fault({ at: 'hub', path: '/tree/', kind: 'status', status: 200, body: '{}' });
  expect(await codeOf(open('o/odd'))).toBe('bad_answer');
});

test('163 shards with 91,985 tensors: one request each, no byte of data but what the first read brings along', async () => {
  const { files, headerBytes, tensors } = deepseekSet();
  hub.addRepo('deepseek-ai/DeepSeek-V3', files);
  const report = await open('deepseek-ai/DeepSeek-V3');
  expect(report).toMatchObject({ verdict: 'sound', tensor_count: tensors });
  const { cdn, cdnBytes } = hub.counts('-of-');
  expect(cdn).toBe(SHARDS);
  expect(cdnBytes).toBeLessThan(1.1 * (headerBytes + 100_000 * SHARDS));
});
