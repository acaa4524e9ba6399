// A sharded set of DeepSeek-V3's shape: 163 shards, 91,000-odd tensors, names, dtypes, shapes and scales as there. The
// headers are real, the data is zeros and nowhere.
import { layOut } from '../../scripts/lib/checkpoint.mjs';
import { sparseContent } from './hub_content.mjs';

const LAYERS = 61;
const DENSE_LAYERS = 3;
const EXPERTS = 256;
export const SHARDS = 163;

/** {files: {path: content}, headerBytes, tensors}: the headers' bytes with their length fields, over all shards. */
export function deepseekSet() {
  const shards = cut(allTensors());
  const files = {};
  const weightMap = {};
  let headerBytes = 0;
  let totalSize = 0;
  let tensors = 0;
  shards.forEach((rows, i) => {
    const name = `model-${String(i + 1).padStart(5, '0')}-of-${String(SHARDS).padStart(6, '0')}.safetensors`;
    const plan = layOut(rows, { format: 'pt' });
    files[name] = sparseContent(plan.header, plan.size);
    headerBytes += plan.header.length;
    totalSize += plan.size - plan.header.length;
    tensors += rows.length;
    for (const row of rows) weightMap[row.name] = name;
  });
  files['model.safetensors.index.json'] = Buffer.from(
    JSON.stringify({ metadata: { total_size: totalSize }, weight_map: weightMap }),
  );
  files['config.json'] = Buffer.from(
    JSON.stringify({
      model_type: 'deepseek_v3',
      quantization_config: { quant_method: 'fp8', fmt: 'e4m3', weight_block_size: [128, 128] },
    }),
  );
  return { files, headerBytes, tensors };
}

/** In the order of the model: a shard holds a run of it. */
function allTensors() {
  const rows = [];
  const bf16 = (name, ...shape) => rows.push(row(name, 'BF16', shape, 2));
  const fp8 = (name, out, into) => {
    rows.push(row(`${name}.weight`, 'F8_E4M3', [out, into], 1));
    rows.push(row(`${name}.weight_scale_inv`, 'F32', [Math.ceil(out / 128), Math.ceil(into / 128)], 4));
  };
  const mlp = (name, width) => {
    fp8(`${name}.gate_proj`, width, 7168);
    fp8(`${name}.up_proj`, width, 7168);
    fp8(`${name}.down_proj`, 7168, width);
  };
  bf16('model.embed_tokens.weight', 129280, 7168);
  for (let i = 0; i < LAYERS + 1; i++) {
    const layer = `model.layers.${i}`;
    bf16(`${layer}.input_layernorm.weight`, 7168);
    bf16(`${layer}.post_attention_layernorm.weight`, 7168);
    bf16(`${layer}.self_attn.q_a_layernorm.weight`, 1536);
    bf16(`${layer}.self_attn.kv_a_layernorm.weight`, 512);
    fp8(`${layer}.self_attn.q_a_proj`, 1536, 7168);
    fp8(`${layer}.self_attn.q_b_proj`, 24576, 1536);
    fp8(`${layer}.self_attn.kv_a_proj_with_mqa`, 576, 7168);
    fp8(`${layer}.self_attn.kv_b_proj`, 32768, 512);
    fp8(`${layer}.self_attn.o_proj`, 7168, 16384);
    if (i < DENSE_LAYERS) {
      mlp(`${layer}.mlp`, 18432);
      continue;
    }
    bf16(`${layer}.mlp.gate.weight`, 256, 7168);
    rows.push(row(`${layer}.mlp.gate.e_score_correction_bias`, 'F32', [256], 4));
    mlp(`${layer}.mlp.shared_experts`, 2048);
    for (let expert = 0; expert < EXPERTS; expert++) mlp(`${layer}.mlp.experts.${expert}`, 2048);
  }
  bf16('model.norm.weight', 7168);
  bf16('lm_head.weight', 129280, 7168);
  return rows;
}

function row(name, dtype, shape, width) {
  return { name, dtype, shape, bytes: shape.reduce((product, side) => product * side, width) };
}

/** Runs of about equal size in bytes. */
function cut(rows) {
  const total = rows.reduce((sum, { bytes }) => sum + bytes, 0);
  const shards = [[]];
  let done = 0;
  for (const each of rows) {
    if (done >= (total / SHARDS) * shards.length && shards.length < SHARDS) shards.push([]);
    shards.at(-1).push(each);
    done += each.bytes;
  }
  return shards;
}
