"""The checkpoints that calibrate.py loads: 1 to 2 GB each, real bytes, standard library only.

Memory depends on dtypes and shapes and not on values, so the payload is one block of harmless codes, repeated.
"""
import json
import pathlib
import random
import struct

SIZES = {"F8_E4M3": 1, "BF16": 2, "F16": 2, "F32": 4}
BLOCK = 4 * 2**20


def block_of(dtype):
    numbers = random.Random(dtype)
    if dtype == "F8_E4M3":
        return bytes(numbers.randrange(0x20, 0x60) for _ in range(BLOCK))
    if dtype == "F32":
        return b"".join(struct.pack("<f", numbers.uniform(-0.1, 0.1)) for _ in range(BLOCK // 4))
    return b"".join(struct.pack("<f", numbers.uniform(-0.1, 0.1))[2:] for _ in range(BLOCK // 2))


def count(shape):
    total = 1
    for length in shape:
        total *= length
    return total


def write_file(path, tensors):
    """tensors: [(name, dtype, shape)]"""
    header, at = {}, 0
    for name, dtype, shape in tensors:
        end = at + count(shape) * SIZES[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    blocks = {dtype: block_of(dtype) for dtype in {dtype for _, dtype, _ in tensors}}
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, dtype, shape in tensors:
            left = count(shape) * SIZES[dtype]
            while left > 0:
                file.write(blocks[dtype][:left])
                left -= min(left, BLOCK)


def write_set(folder, tensors, shards, config, stem="model"):
    """The tensors in order, cut into files of about the same size, with an index and config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    limit = sum(count(shape) * SIZES[dtype] for _, dtype, shape in tensors) / shards
    files, held = [[]], 0
    for tensor in tensors:
        if held >= limit and len(files) < shards:
            files.append([])
            held = 0
        files[-1].append(tensor)
        held += count(tensor[2]) * SIZES[tensor[1]]
    weight_map = {}
    for i, part in enumerate(files):
        name = f"{stem}-{i + 1:05}-of-{len(files):05}.safetensors"
        write_file(folder / name, part)
        weight_map.update({tensor[0]: name for tensor in part})
    (folder / f"{stem}.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps(config))


def fp8_diffusion(folder):
    """Per-tensor scaled fp8 with the layer size of Krea-2 (6144 x 16384), and others in bf16 and float32. 1.9 GB."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = []
    for i in range(16):
        tensors.append((f"blocks.{i}.mlp.up.weight", "F8_E4M3", (16384, 6144)))
        tensors.append((f"blocks.{i}.mlp.up.weight_scale", "F32", ()))
    tensors += [(f"txtfusion.{i}.weight", "BF16", (6144, 6144)) for i in range(3)]
    tensors += [(f"tmlp.{i}.weight", "F32", (6144, 2048)) for i in range(2)]
    write_file(folder / "model.safetensors", tensors)


def bf16_diffusion(folder):
    """A FLUX.1 transformer of 1.9 GB in bf16, as diffusers lays it out, in two shards."""
    import torch
    from diffusers import FluxTransformer2DModel

    config = {"num_layers": 2, "num_single_layers": 6, "attention_head_dim": 128, "num_attention_heads": 24,
              "joint_attention_dim": 4096, "pooled_projection_dim": 768, "in_channels": 64, "guidance_embeds": True}
    with torch.device("meta"):
        model = FluxTransformer2DModel(**config)
    tensors = [(name, "BF16", tuple(value.shape)) for name, value in model.state_dict().items()]
    write_set(folder, tensors, 2, {"_class_name": "FluxTransformer2DModel", **config}, "diffusion_pytorch_model")


LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
         "num_hidden_layers": 4, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
         "vocab_size": 32000, "max_position_embeddings": 4096, "tie_word_embeddings": False, "rms_norm_eps": 1e-5,
         "torch_dtype": "bfloat16"}


def llama_tensors(dtype):
    hidden, inner, keys = LLAMA["hidden_size"], LLAMA["intermediate_size"], 8 * 128
    linear = {"self_attn.q_proj": (hidden, hidden), "self_attn.k_proj": (keys, hidden),
              "self_attn.v_proj": (keys, hidden), "self_attn.o_proj": (hidden, hidden), "mlp.gate_proj": (inner, hidden),
              "mlp.up_proj": (inner, hidden), "mlp.down_proj": (hidden, inner)}
    yield "model.embed_tokens.weight", "BF16", (LLAMA["vocab_size"], hidden)
    for i in range(LLAMA["num_hidden_layers"]):
        for name, shape in linear.items():
            yield f"model.layers.{i}.{name}.weight", dtype, shape
            if dtype == "F8_E4M3":
                yield f"model.layers.{i}.{name}.weight_scale_inv", "F32", tuple(-(-n // 128) for n in shape)
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield f"model.layers.{i}.{name}.weight", "BF16", (hidden,)
    yield "model.norm.weight", "BF16", (hidden,)
    yield "lm_head.weight", "BF16", (LLAMA["vocab_size"], hidden)


def bf16_language(folder):
    """A Llama of 2 GB in bf16, in three shards."""
    write_set(folder, list(llama_tensors("BF16")), 3, LLAMA)


def fp8_language(folder):
    """The same with block-scaled fp8 as DeepSeek's, 1.3 GB in two shards."""
    quantization = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128],
                    "modules_to_not_convert": ["lm_head"]}
    write_set(folder, list(llama_tensors("F8_E4M3")), 2, {**LLAMA, "quantization_config": quantization})


MAKERS = {"fp8_diffusion": fp8_diffusion, "bf16_diffusion": bf16_diffusion, "bf16_language": bf16_language,
          "fp8_language": fp8_language}


def make(name, folder):
    path = pathlib.Path(folder) / name
    if not path.exists():
        MAKERS[name](path)
    return path
