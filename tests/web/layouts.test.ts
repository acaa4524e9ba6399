import { describe, expect, test } from 'vitest';
import { findChoice, isIndex, type Known, type Layout, layOut } from '../../web/engine/layouts';
import { componentsNamed } from '../../web/engine/pipeline_layouts';

const sized = (paths: string[]) => paths.map((path, at) => ({ path, size: 1000 + at }));
const of = (paths: string[], known?: Known): Layout => layOut(sized(paths), known);
const ids = (layout: Layout): string[] => layout.choices.map(({ kind, id }) => `${kind} ${id}`);
const names = (files: readonly { path: string }[]): string[] => files.map(({ path }) => path);
const ignored = (layout: Layout): string[] => layout.ignored.map(({ path, reason }) => `${reason} ${path}`);

const SET = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors', 'model.safetensors.index.json'];

describe('one checkpoint', () => {
  test('a single file with what stands beside it', () => {
    const layout = of(['model.safetensors', 'config.json', 'tokenizer.json', 'README.md', 'picture.png']);
    const [choice] = layout.choices;
    expect(ids(layout)).toEqual(['file model.safetensors']);
    expect(layout.preferred).toBe('model.safetensors');
    expect(names(choice?.sideFiles ?? [])).toEqual(['config.json']);
    expect(names(choice?.companions ?? [])).toEqual(['README.md', 'config.json', 'tokenizer.json']);
    expect(ignored(layout)).toEqual(['not_read picture.png']);
  });

  test('a set by its index: in order, with the sum of its files', () => {
    const layout = of([SET[1] ?? '', SET[2] ?? '', SET[0] ?? '', 'hf_quant_config.json']);
    const [set] = layout.choices;
    expect(set).toMatchObject({
      kind: 'set',
      id: 'model.safetensors.index.json',
      title: 'model (2 files)',
      missing: [],
    });
    expect(names(set?.files ?? [])).toEqual(SET.slice(0, 2));
    expect(set?.bytes).toBe(1000 + 1002);
    expect(names(set?.sideFiles ?? [])).toEqual(['hf_quant_config.json']);
    expect(layout.ignored).toEqual([]);
  });

  test('what the index says beats what the names look like', () => {
    const files = [
      'a.safetensors',
      'odd name.safetensors',
      'model-00001-of-00002.safetensors',
      'x.safetensors.index.json',
    ];
    const indexed = new Map([
      ['x.safetensors.index.json', ['odd name.safetensors', 'a.safetensors', 'gone.safetensors']],
    ]);
    const layout = of(files, { indexed });
    expect(layout.choices[0]).toMatchObject({ kind: 'set', missing: ['gone.safetensors'] });
    expect(names(layout.choices[0]?.files ?? [])).toEqual(['a.safetensors', 'odd name.safetensors']);
    expect(layout.preferred).toBe('x.safetensors.index.json');
    expect(ignored(layout)).toEqual(['beside_set model-00001-of-00002.safetensors']);
  });

  test('a missing shard is named by the numbers, with six digits too', () => {
    const layout = of(['model-00001-of-000003.safetensors', 'model.safetensors.index.json']);
    expect(layout.choices[0]?.missing).toEqual([
      'model-00002-of-000003.safetensors',
      'model-00003-of-000003.safetensors',
    ]);
  });

  test('numbered files join without an index', () => {
    const layout = of([SET[0] ?? '', SET[1] ?? '', 'consolidated.00.safetensors', 'consolidated.01.safetensors']);
    expect(ids(layout)).toEqual(['set consolidated.*.safetensors', 'set model-*-of-00002.safetensors']);
    expect(layout.preferred).toBeNull();
  });

  test('a lone shard is a set with files missing; numbers made up cost no million names', () => {
    expect(of([SET[0] ?? '']).choices[0]).toMatchObject({ kind: 'set', missing: [SET[1]] });
    expect(of(['model-00001-of-00001.safetensors']).choices[0]).toMatchObject({ kind: 'file' });
    expect(of(['m-00001-of-999999.safetensors']).choices[0]?.missing).toHaveLength(10_000);
  });

  test('a lone file of any name is opened, so that the core says what it is', () => {
    expect(ids(of(['model.gguf', 'config.json']))).toEqual(['file model.gguf']);
    expect(ids(of(['a.gguf', 'b.bin']))).toEqual([]);
    expect(ignored(of(['a.gguf', 'b.bin']))).toEqual(['other_format a.gguf', 'other_format b.bin']);
  });

  test('an index without shards, a torch index, a path given twice, nothing at all', () => {
    expect(ignored(of(['model.safetensors.index.json', 'pytorch_model.bin.index.json']))).toEqual([
      'no_shards model.safetensors.index.json',
      'other_format pytorch_model.bin.index.json',
    ]);
    expect(ignored(of(['a.safetensors', 'a.safetensors']))).toEqual(['given_twice a.safetensors']);
    expect(of([])).toEqual({ choices: [], preferred: null, ignored: [] });
  });
});

describe('several', () => {
  test('a stray copy beside a set: the set is opened, the copy named and to be had', () => {
    const layout = of([...SET, 'consolidated.safetensors', 'model.safetensors']);
    expect(layout.preferred).toBe('model.safetensors.index.json');
    expect(ignored(layout)).toEqual(['beside_set consolidated.safetensors', 'beside_set model.safetensors']);
    expect(findChoice(layout, 'consolidated.safetensors')?.kind).toBe('file');
  });

  test('variants side by side are a choice', () => {
    const layout = of(['krea_bf16.safetensors', 'krea_fp8.safetensors']);
    expect(ids(layout)).toEqual(['file krea_bf16.safetensors', 'file krea_fp8.safetensors']);
    expect(layout.preferred).toBeNull();
  });

  test('two sets in one folder, one of them a variant by its index', () => {
    const layout = of([...SET, 'model.fp16-00001-of-00001.safetensors', 'model.safetensors.index.fp16.json']);
    expect(layout.choices.map(({ id, variant }) => [id, variant])).toEqual([
      ['model.safetensors.index.fp16.json', 'fp16'],
      ['model.safetensors.index.json', ''],
    ]);
    expect(layout.preferred).toBeNull();
  });

  test('a set in each folder is found by the folder too', () => {
    const layout = of([...SET.map((path) => `fp8/${path}`), ...SET.map((path) => `bf16/${path}`)]);
    expect(layout.preferred).toBeNull();
    expect(findChoice(layout, 'fp8/')?.id).toBe('fp8/model.safetensors.index.json');
    expect(findChoice(layout, 'fp4')).toBeNull();
  });

  test('split_files of ComfyUI: each file by itself', () => {
    const layout = of([
      'split_files/diffusion_models/x_fp8.safetensors',
      'split_files/text_encoders/t5.safetensors',
      'split_files/vae/ae.safetensors',
    ]);
    expect(layout.choices.every(({ kind }) => kind === 'file')).toBe(true);
    expect(findChoice(layout, 'split_files/vae')?.id).toBe('split_files/vae/ae.safetensors');
  });
});

describe('pipelines', () => {
  const PIPELINE = [
    'model_index.json',
    'README.md',
    'scheduler/scheduler_config.json',
    'text_encoder/config.json',
    'text_encoder/model.safetensors',
    'tokenizer/vocab.json',
    'transformer/config.json',
    'transformer/diffusion_pytorch_model-00001-of-00002.safetensors',
    'transformer/diffusion_pytorch_model-00002-of-00002.safetensors',
    'transformer/diffusion_pytorch_model.safetensors.index.json',
    'vae/diffusion_pytorch_model.safetensors',
  ];

  test('each component, the sum, and what rides along', () => {
    const layout = of(PIPELINE);
    const [pipeline] = layout.choices;
    expect(layout.choices).toHaveLength(1);
    expect(pipeline).toMatchObject({ kind: 'pipeline', title: 'Pipeline (text_encoder, transformer, vae)' });
    expect(pipeline?.components.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
      'file text_encoder/model.safetensors',
      'set transformer/diffusion_pytorch_model.safetensors.index.json',
      'file vae/diffusion_pytorch_model.safetensors',
    ]);
    expect(pipeline?.bytes).toBe(pipeline?.components.reduce((sum, { bytes }) => sum + bytes, 0));
    expect(names(pipeline?.components[1]?.sideFiles ?? [])).toEqual(['transformer/config.json']);
    expect(names(pipeline?.companions ?? [])).toContain('tokenizer/vocab.json');
    expect(layout.ignored).toEqual([]);
  });

  test('a variant is a pipeline of its own, with the plain file where it has none', () => {
    const layout = of([
      ...PIPELINE,
      'text_encoder/model.fp16.safetensors',
      'vae/diffusion_pytorch_model.fp16.safetensors',
    ]);
    expect(layout.choices.map(({ id }) => id)).toEqual(['model_index.json', 'model_index.json#fp16']);
    expect(layout.choices[1]?.components.map(({ id }) => id)).toEqual([
      'text_encoder/model.fp16.safetensors',
      'transformer/diffusion_pytorch_model.safetensors.index.json',
      'vae/diffusion_pytorch_model.fp16.safetensors',
    ]);
    expect(layout.ignored).toEqual([]);
  });

  test('a single file beside the pipeline is another choice, a folder it does not name too', () => {
    const files = [...PIPELINE, 'flux1-dev.safetensors', 'transformer_fp8/model.safetensors'];
    const components = new Map([['model_index.json', ['text_encoder', 'transformer', 'vae', 'scheduler']]]);
    const layout = of(files, { components });
    expect(ids(layout)).toEqual([
      'pipeline model_index.json',
      'file flux1-dev.safetensors',
      'file transformer_fp8/model.safetensors',
    ]);
    expect(layout.preferred).toBeNull();
    expect(findChoice(layout, 'vae')?.id).toBe('vae/diffusion_pytorch_model.safetensors');
  });

  test('a pipeline in a folder that was dropped', () => {
    const layout = of(PIPELINE.map((path) => `my model/${path}`));
    expect(layout.choices[0]).toMatchObject({ folder: 'my model', id: 'my model/model_index.json' });
    expect(layout.choices[0]?.title).toBe('my model: Pipeline (text_encoder, transformer, vae)');
  });

  test('what a model_index.json names', () => {
    expect(componentsNamed('{"_class_name":"P","unet":["diffusers","U"],"safety_checker":[null,null],"n":1}')).toEqual([
      'unet',
    ]);
    expect(componentsNamed('not json')).toEqual([]);
    expect(componentsNamed('null')).toEqual([]);
  });
});

test.each([
  ['model.safetensors.index.json', true],
  ['a/b/diffusion_pytorch_model.safetensors.index.fp16.json', true],
  ['pytorch_model.bin.index.json', false],
  ['model_index.json', false],
  ['model.safetensors', false],
])('%s is an index: %s', (path, is) => expect(isIndex(path)).toBe(is));
