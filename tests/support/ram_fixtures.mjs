// Checkpoints of the shapes of well-known models, headers only: the data is zeros and takes no room on the disk.
// Shapes from each model's own config and code; docs/ram.md names them.
import { closeSync, ftruncateSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { layOut } from '../../scripts/lib/checkpoint.mjs';

const WIDTHS = { F8_E4M3: 1, BF16: 2, F16: 2, F32: 4 };
const row = (name, dtype, shape) => ({ name, dtype, shape, bytes: shape.reduce((a, b) => a * b, WIDTHS[dtype]) });
const range = (count) => Array.from({ length: count }, (_, i) => i);

/** An fp8 weight with one float32 scale. */
function scaled(name, ...shape) {
  return [row(`${name}.weight`, 'F8_E4M3', shape), row(`${name}.weight_scale`, 'F32', [])];
}

/** 28 blocks of 6144, attention with 12 key-value heads and a gate: 12.155e9 parameters. */
function krea2() {
  const [hidden, keys, inner] = [6144, 1536, 16384];
  const layers = range(28).flatMap((i) => [
    ...['wq', 'wo', 'gate'].flatMap((name) => scaled(`blocks.${i}.attn.${name}`, hidden, hidden)),
    ...['wk', 'wv'].flatMap((name) => scaled(`blocks.${i}.attn.${name}`, keys, hidden)),
    ...['gate', 'up'].flatMap((name) => scaled(`blocks.${i}.mlp.${name}`, inner, hidden)),
    ...scaled(`blocks.${i}.mlp.down`, hidden, inner),
    row(`blocks.${i}.prenorm.scale`, 'BF16', [hidden]),
  ]);
  return [...layers, row('txtfusion.projector.weight', 'BF16', [1, 12])];
}

/** FLUX.2 klein 9B: 8 double and 24 single blocks of 4096 with a gated MLP of 12288: 9.08e9 parameters. */
function flux2() {
  const [hidden, inner] = [4096, 12288];
  const streams = range(8).flatMap((i) =>
    ['img', 'txt'].flatMap((side) => [
      ...scaled(`double_blocks.${i}.${side}_attn.qkv`, 3 * hidden, hidden),
      ...scaled(`double_blocks.${i}.${side}_attn.proj`, hidden, hidden),
      ...scaled(`double_blocks.${i}.${side}_mlp.0`, 2 * inner, hidden),
      ...scaled(`double_blocks.${i}.${side}_mlp.2`, hidden, inner),
    ]),
  );
  const single = range(24).flatMap((i) => [
    ...scaled(`single_blocks.${i}.linear1`, 3 * hidden + 2 * inner, hidden),
    ...scaled(`single_blocks.${i}.linear2`, hidden, hidden + inner),
  ]);
  return [
    ...streams,
    ...single,
    ...['img', 'txt'].flatMap((side) => scaled(`double_stream_modulation_${side}.lin`, 6 * hidden, hidden)),
    ...scaled('single_stream_modulation.lin', 3 * hidden, hidden),
    ...scaled('txt_in', hidden, inner),
    ...scaled('final_layer.adaLN_modulation.1', 2 * hidden, hidden),
    row('img_in.weight', 'BF16', [hidden, 128]),
    row('time_in.in_layer.weight', 'BF16', [hidden, 256]),
    row('time_in.out_layer.weight', 'BF16', [hidden, hidden]),
    row('final_layer.linear.weight', 'BF16', [128, hidden]),
  ];
}

/** Qwen-Image: 60 double-stream blocks of 3072: 20.4e9 parameters. */
function qwenImage() {
  const [hidden, inner] = [3072, 12288];
  const attention = ['to_q', 'to_k', 'to_v', 'to_out.0', 'add_q_proj', 'add_k_proj', 'add_v_proj', 'to_add_out'];
  const layers = range(60).flatMap((i) => {
    const block = `transformer_blocks.${i}`;
    return [
      ...attention.flatMap((name) => scaled(`${block}.attn.${name}`, hidden, hidden)),
      ...['img', 'txt'].flatMap((side) => [
        ...scaled(`${block}.${side}_mod.1`, 6 * hidden, hidden),
        ...scaled(`${block}.${side}_mlp.net.0.proj`, inner, hidden),
        ...scaled(`${block}.${side}_mlp.net.2`, hidden, inner),
      ]),
    ];
  });
  return [
    ...layers,
    row('txt_norm.weight', 'BF16', [3584]),
    row('txt_in.weight', 'BF16', [hidden, 3584]),
    row('img_in.weight', 'BF16', [hidden, 64]),
    row('norm_out.linear.weight', 'BF16', [2 * hidden, hidden]),
    row('proj_out.weight', 'BF16', [64, hidden]),
  ];
}

/** Qwen3-VL 4B, as Krea-2's text encoder: 36 layers of 2560 and a vision tower of 24: 4.44e9 parameters. */
function qwen3Vl() {
  const [hidden, inner, vision] = [2560, 9728, 1024];
  const layers = range(36).flatMap((i) => {
    const layer = `model.language_model.layers.${i}`;
    return [
      ...scaled(`${layer}.self_attn.q_proj`, 4096, hidden),
      ...scaled(`${layer}.self_attn.k_proj`, 1024, hidden),
      ...scaled(`${layer}.self_attn.v_proj`, 1024, hidden),
      ...scaled(`${layer}.self_attn.o_proj`, hidden, 4096),
      ...['gate_proj', 'up_proj'].flatMap((name) => scaled(`${layer}.mlp.${name}`, inner, hidden)),
      ...scaled(`${layer}.mlp.down_proj`, hidden, inner),
      row(`${layer}.input_layernorm.weight`, 'BF16', [hidden]),
    ];
  });
  const tower = range(24).flatMap((i) => {
    const block = `model.visual.blocks.${i}`;
    return [
      ...scaled(`${block}.attn.qkv`, 3 * vision, vision),
      ...scaled(`${block}.attn.proj`, vision, vision),
      ...scaled(`${block}.mlp.linear_fc1`, 4 * vision, vision),
      ...scaled(`${block}.mlp.linear_fc2`, vision, 4 * vision),
    ];
  });
  const mergers = ['merger', ...range(3).map((i) => `deepstack_merger_list.${i}`)].flatMap((name) => [
    ...scaled(`model.visual.${name}.linear_fc1`, 4 * vision, 4 * vision),
    ...scaled(`model.visual.${name}.linear_fc2`, hidden, 4 * vision),
  ]);
  return [...scaled('model.language_model.embed_tokens', 151936, hidden), ...layers, ...tower, ...mergers];
}

/** Llama 3.1 8B in bf16: grouped-query attention, 8 key-value heads of 128. */
function llama() {
  const [hidden, keys, inner] = [4096, 1024, 14336];
  const layers = range(32).flatMap((i) => {
    const layer = `model.layers.${i}`;
    const shapes = {
      'self_attn.q_proj': [hidden, hidden],
      'self_attn.k_proj': [keys, hidden],
      'self_attn.v_proj': [keys, hidden],
      'self_attn.o_proj': [hidden, hidden],
      'mlp.gate_proj': [inner, hidden],
      'mlp.up_proj': [inner, hidden],
      'mlp.down_proj': [hidden, inner],
      input_layernorm: [hidden],
      post_attention_layernorm: [hidden],
    };
    return Object.entries(shapes).map(([name, shape]) => row(`${layer}.${name}.weight`, 'BF16', shape));
  });
  const ends = ['model.embed_tokens', 'lm_head'].map((name) => row(`${name}.weight`, 'BF16', [128256, hidden]));
  return [...ends, ...layers, row('model.norm.weight', 'BF16', [hidden])];
}

const LLAMA_CONFIG = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: 4096,
  intermediate_size: 14336,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 128256,
  max_position_embeddings: 131072,
  torch_dtype: 'bfloat16',
};

/** {name: {tensors, config?}} */
export const RAM_FIXTURES = {
  krea2: { tensors: krea2() },
  flux2: { tensors: flux2() },
  qwen_image: { tensors: qwenImage() },
  qwen3_vl: { tensors: qwen3Vl() },
  llama: { tensors: llama(), config: LLAMA_CONFIG },
};

/** {header, size} of the fixture's one file. */
export function ramFixture(name) {
  return layOut(RAM_FIXTURES[name].tensors, { format: 'pt' });
}

/** A folder with the sparse file, and config.json where there is one. */
export function writeRamFixture(name, folder) {
  mkdirSync(folder, { recursive: true });
  const { header, size } = ramFixture(name);
  const file = openSync(join(folder, 'model.safetensors'), 'w');
  writeSync(file, header);
  ftruncateSync(file, size);
  closeSync(file);
  const { config } = RAM_FIXTURES[name];
  if (config) writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  return folder;
}
