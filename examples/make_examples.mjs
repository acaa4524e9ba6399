// Makes small checkpoints in the image of well-known ones: their tensor names, dtypes and scale layouts, with
// pseudo-random weights quantized as the real tools do it (scale = largest magnitude / 448). Same bytes every time.
//
//   node examples/make_examples.mjs [FOLDER ...]      default: build/examples and web/app/public/examples
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bf16Bytes, checkpointBytes, e4m3FromNumber, f32Bytes, generator, normal } from '../scripts/lib/checkpoint.mjs';

const E4M3_MAX = 448;

const count = (shape) => shape.reduce((product, size) => product * size, 1);

/** A model being put together; weights come from one generator, so the order of calls decides the values. */
class Maker {
  constructor(seed) {
    this.next = generator(seed);
    this.rows = [];
  }

  add(name, dtype, shape, data) {
    this.rows.push({ name, dtype, shape, data });
  }

  values(shape, spread) {
    return Array.from({ length: count(shape) }, () => Math.fround(normal(this.next) * spread));
  }

  bf16(name, shape, spread = 0.02) {
    this.add(name, 'BF16', shape, bf16Bytes(this.values(shape, spread)));
  }

  /** a norm: ones, nearly */
  norm(name, size, dtype = 'BF16') {
    const values = this.values([size], 0.05).map((value) => 1 + value);
    this.add(name, dtype, [size], dtype === 'F32' ? f32Bytes(values) : bf16Bytes(values));
  }

  json(name, value) {
    const data = Buffer.from(JSON.stringify(value));
    this.add(name, 'U8', [data.length], data);
  }

  /** fp8 with one scale per block of blockRows x blockCols; the whole tensor by default. Returns the scale grid. */
  quantized(name, [rows, cols], blockRows = rows, blockCols = cols, spread = 0.02) {
    const values = this.values([rows, cols], spread);
    const grid = [Math.ceil(rows / blockRows), Math.ceil(cols / blockCols)];
    const largest = new Float64Array(grid[0] * grid[1]);
    const block = (i) => Math.floor(Math.floor(i / cols) / blockRows) * grid[1] + Math.floor((i % cols) / blockCols);
    values.forEach((value, i) => {
      largest[block(i)] = Math.max(largest[block(i)], Math.abs(value));
    });
    const scales = [...largest].map((peak) => Math.fround(peak / E4M3_MAX));
    this.add(
      name,
      'F8_E4M3',
      [rows, cols],
      Buffer.from(values.map((value, i) => e4m3FromNumber(value / scales[block(i)]))),
    );
    return { scales, grid };
  }

  /** the newer ComfyUI way: .weight_scale and a .comfy_quant marker per layer */
  comfyLinear(layer, shape) {
    const { scales } = this.quantized(`${layer}.weight`, shape);
    this.add(`${layer}.weight_scale`, 'F32', [], f32Bytes(scales));
    this.json(`${layer}.comfy_quant`, { format: 'float8_e4m3fn' });
  }

  /** the older ComfyUI way: .scale_weight, and one scaled_fp8 marker for the file */
  legacyLinear(layer, shape, { bias = false, inputScale = false } = {}) {
    const { scales } = this.quantized(`${layer}.weight`, shape);
    this.add(`${layer}.scale_weight`, 'F32', [1], f32Bytes(scales));
    if (inputScale) this.add(`${layer}.scale_input`, 'F32', [1], f32Bytes([1]));
    if (bias) this.bf16(`${layer}.bias`, [shape[0]]);
  }

  /** DeepSeek: a grid of 128 x 128 blocks, the last row and column of it partly filled */
  blockLinear(layer, shape) {
    const { scales, grid } = this.quantized(`${layer}.weight`, shape, 128, 128);
    this.add(`${layer}.weight_scale_inv`, 'F32', grid, f32Bytes(scales));
  }
}

function krea2(maker, missingScale = '') {
  const [width, kv, mlp, text, head] = [64, 16, 128, 32, 8];
  maker.bf16('first.weight', [width, 16]);
  maker.bf16('first.bias', [width]);
  for (const stem of ['tmlp.0', 'tmlp.2']) {
    maker.bf16(`${stem}.weight`, [width, width]);
    maker.bf16(`${stem}.bias`, [width]);
  }
  // Genuine parameters that end in .scale: not quantization scales.
  maker.norm('txtfusion.layerwise_blocks.0.prenorm.scale', text, 'F32');
  maker.bf16('txtfusion.projector.weight', [1, 12]);
  for (let i = 0; i < 3; i++) {
    const block = `blocks.${i}`;
    maker.norm(`${block}.prenorm.scale`, width, 'F32');
    maker.norm(`${block}.postnorm.scale`, width, 'F32');
    maker.norm(`${block}.attn.qknorm.qnorm.scale`, head, 'F32');
    maker.norm(`${block}.attn.qknorm.knorm.scale`, head, 'F32');
    maker.bf16(`${block}.mod.lin`, [6, width]);
    const shapes = { wq: [width, width], wk: [kv, width], wv: [kv, width], wo: [width, width], gate: [width, width] };
    for (const [part, shape] of Object.entries(shapes)) maker.comfyLinear(`${block}.attn.${part}`, shape);
    maker.comfyLinear(`${block}.mlp.gate`, [mlp, width]);
    maker.comfyLinear(`${block}.mlp.up`, [mlp, width]);
    maker.comfyLinear(`${block}.mlp.down`, [width, mlp]);
  }
  maker.bf16('last.linear.weight', [16, width]);
  maker.bf16('last.linear.bias', [16]);
  maker.rows = maker.rows.filter(
    ({ name }) => !missingScale || !name.startsWith(`${missingScale}.`) || name === `${missingScale}.weight`,
  );
  return { rows: maker.rows, metadata: { format: 'pt' } };
}

function zImage(maker) {
  const [width, mlp, caption, head] = [48, 128, 40, 16];
  const layers = {};
  const linear = (layer, shape) => {
    const { scales } = maker.quantized(`${layer}.weight`, shape);
    maker.add(`${layer}.weight_scale`, 'F32', [], f32Bytes(scales));
    layers[layer] = { format: 'float8_e4m3fn' };
  };
  maker.bf16('x_embedder.weight', [width, 64]);
  maker.bf16('x_embedder.bias', [width]);
  maker.norm('cap_embedder.0.weight', caption);
  maker.bf16('cap_embedder.1.weight', [width, caption]);
  maker.bf16('cap_embedder.1.bias', [width]);
  maker.bf16('x_pad_token', [1, width]);
  maker.bf16('cap_pad_token', [1, width]);
  for (const block of ['noise_refiner.0', 'context_refiner.0', 'layers.0', 'layers.1']) {
    linear(`${block}.attention.qkv`, [3 * width, width]);
    linear(`${block}.attention.out`, [width, width]);
    maker.norm(`${block}.attention.q_norm.weight`, head);
    maker.norm(`${block}.attention.k_norm.weight`, head);
    for (const part of ['w1', 'w3']) linear(`${block}.feed_forward.${part}`, [mlp, width]);
    linear(`${block}.feed_forward.w2`, [width, mlp]);
    for (const norm of ['attention_norm1', 'attention_norm2', 'ffn_norm1', 'ffn_norm2'])
      maker.norm(`${block}.${norm}.weight`, width);
    if (!block.startsWith('context')) maker.bf16(`${block}.adaLN_modulation.0.weight`, [4 * width, 32]);
  }
  maker.bf16('final_layer.linear.weight', [64, width]);
  // Here the file's metadata names the quantized layers, instead of one marker tensor per layer.
  return {
    rows: maker.rows,
    metadata: { format: 'pt', _quantization_metadata: JSON.stringify({ format_version: '1.0', layers }) },
  };
}

function flux2(maker) {
  const [width, mlp, text, head] = [48, 144, 80, 16];
  maker.bf16('img_in.weight', [width, 128]);
  maker.bf16('txt_in.weight', [width, text]);
  maker.bf16('time_in.in_layer.weight', [width, 32]);
  maker.bf16('time_in.out_layer.weight', [width, width]);
  for (const stream of ['img', 'txt']) maker.bf16(`double_stream_modulation_${stream}.lin.weight`, [6 * width, width]);
  maker.bf16('single_stream_modulation.lin.weight', [3 * width, width]);
  const linear = (layer, shape) => {
    maker.comfyLinear(layer, shape);
    maker.add(`${layer}.input_scale`, 'F32', [], f32Bytes([0.0078125]));
  };
  for (const stream of ['img', 'txt']) {
    linear(`double_blocks.0.${stream}_attn.qkv`, [3 * width, width]);
    linear(`double_blocks.0.${stream}_attn.proj`, [width, width]);
    for (const norm of ['query_norm', 'key_norm'])
      maker.norm(`double_blocks.0.${stream}_attn.norm.${norm}.scale`, head);
    linear(`double_blocks.0.${stream}_mlp.0`, [mlp, width]);
    linear(`double_blocks.0.${stream}_mlp.2`, [width, mlp / 2]);
  }
  linear('single_blocks.0.linear1', [3 * width + mlp, width]);
  linear('single_blocks.0.linear2', [width, width + mlp / 2]);
  for (const norm of ['query_norm', 'key_norm']) maker.norm(`single_blocks.0.norm.${norm}.scale`, head);
  maker.bf16('final_layer.linear.weight', [128, width]);
  return { rows: maker.rows, metadata: { format: 'pt', 'modelspec.title': 'an example in the image of FLUX.2' } };
}

function qwenImage(maker) {
  const [width, mlp, text, head] = [60, 180, 56, 20];
  const legacy = (layer, shape) => maker.legacyLinear(layer, shape, { bias: true, inputScale: true });
  maker.bf16('img_in.weight', [width, 64]);
  maker.bf16('img_in.bias', [width]);
  maker.norm('txt_norm.weight', text);
  maker.bf16('txt_in.weight', [width, text]);
  maker.bf16('txt_in.bias', [width]);
  for (let i = 0; i < 2; i++) {
    const block = `transformer_blocks.${i}`;
    for (const part of ['to_q', 'to_k', 'to_v', 'to_out.0', 'add_q_proj', 'add_k_proj', 'add_v_proj', 'to_add_out']) {
      legacy(`${block}.attn.${part}`, [width, width]);
    }
    for (const norm of ['norm_q', 'norm_k', 'norm_added_q', 'norm_added_k'])
      maker.norm(`${block}.attn.${norm}.weight`, head);
    for (const stream of ['img', 'txt']) {
      legacy(`${block}.${stream}_mlp.net.0.proj`, [mlp, width]);
      legacy(`${block}.${stream}_mlp.net.2`, [width, mlp]);
    }
  }
  maker.bf16('proj_out.weight', [64, width]);
  // The old marker: an empty tensor whose dtype is all it says.
  maker.add('scaled_fp8', 'F8_E4M3', [0], Buffer.alloc(0));
  return { rows: maker.rows };
}

function deepseekV3(maker) {
  const [hidden, intermediate, expert] = [200, 160, 136];
  const layer = 'model.layers.0';
  maker.bf16('model.embed_tokens.weight', [32, hidden]);
  maker.norm(`${layer}.input_layernorm.weight`, hidden);
  maker.norm(`${layer}.post_attention_layernorm.weight`, hidden);
  maker.blockLinear(`${layer}.self_attn.kv_a_proj_with_mqa`, [72, hidden]);
  maker.norm(`${layer}.self_attn.kv_a_layernorm.weight`, 64);
  maker.blockLinear(`${layer}.self_attn.o_proj`, [hidden, 64]);
  for (const part of ['gate_proj', 'up_proj'])
    maker.blockLinear(`${layer}.mlp.shared_experts.${part}`, [intermediate, hidden]);
  maker.blockLinear(`${layer}.mlp.shared_experts.down_proj`, [hidden, intermediate]);
  maker.bf16(`${layer}.mlp.gate.weight`, [2, hidden]);
  maker.add(`${layer}.mlp.gate.e_score_correction_bias`, 'F32', [2], f32Bytes([0.5, -0.25]));
  maker.blockLinear(`${layer}.mlp.experts.0.gate_proj`, [expert, 72]);
  maker.norm('model.norm.weight', hidden);
  maker.bf16('lm_head.weight', [32, hidden]);
  const config = {
    architectures: ['DeepseekV3ForCausalLM'],
    model_type: 'deepseek_v3',
    hidden_size: hidden,
    torch_dtype: 'bfloat16',
    quantization_config: {
      activation_scheme: 'dynamic',
      fmt: 'e4m3',
      quant_method: 'fp8',
      weight_block_size: [128, 128],
    },
  };
  return { rows: maker.rows, metadata: { format: 'pt' }, config };
}

const EXAMPLES = [
  {
    name: 'krea-2',
    title: 'Krea-2, scaled fp8',
    make: krea2,
    says: 'One float32 scale per weight and a comfy_quant marker beside it; norms end in .scale and are not scales.',
  },
  {
    name: 'z-image',
    title: 'Z-Image, scaled fp8',
    make: zImage,
    says: 'The same scales, but the file’s metadata names the quantized layers.',
  },
  {
    name: 'flux-2',
    title: 'FLUX.2, scaled fp8',
    make: flux2,
    says: 'Weight scales and activation scales side by side; only the first belong to the weights.',
  },
  {
    name: 'qwen-image',
    title: 'Qwen-Image, older scaled fp8',
    make: qwenImage,
    says: 'The older spelling: scale_weight, scale_input and one empty scaled_fp8 marker.',
  },
  {
    name: 'deepseek-v3',
    title: 'DeepSeek-V3, 128 x 128 blocks',
    make: deepseekV3,
    says: 'One scale per block of 128 x 128, partial blocks at the edges, and a config.json that says so.',
  },
  {
    name: 'lost-scale',
    title: 'Krea-2 with a lost scale',
    make: (maker) => krea2(maker, 'blocks.1.attn.wv'),
    says: 'One of 24 weights lost its scale: nothing is converted before you decide.',
  },
];

function main() {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const given = process.argv.slice(2);
  const folders = given.length ? given : [join(root, 'build/examples'), join(root, 'web/app/public/examples')];
  const files = new Map();
  const index = EXAMPLES.map(({ name, title, says, make }, i) => {
    const { rows, metadata, config } = make(new Maker(1000 + i));
    const data = checkpointBytes(rows, metadata);
    const file = config ? `${name}/model.safetensors` : `${name}.safetensors`;
    files.set(file, data);
    if (config) files.set(`${name}/config.json`, `${JSON.stringify(config, null, 2)}\n`);
    return { file, side_files: config ? [`${name}/config.json`] : [], title, says, size_bytes: data.length };
  });
  files.set('index.json', `${JSON.stringify(index, null, 2)}\n`);
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true });
    for (const [file, data] of files) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), data);
    }
  }
  console.log(
    `${index.length} examples, ${index.reduce((sum, row) => sum + row.size_bytes, 0)} bytes, in ${folders.join(' and ')}`,
  );
}

main();
