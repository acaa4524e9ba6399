"""bitsandbytes: its modules' own state dicts, and what its own functions make of them."""
import bitsandbytes as bnb
import torch
from bitsandbytes import functional as F

from golden import Golden, edges, every_byte, plain, scaled

PACKAGE = "bitsandbytes"
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16"}


def four_bits(folder, kind, nested, blocksize=64):
    config = CONFIG | {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_quant_type": kind,
                                               "bnb_4bit_use_double_quant": nested, "bnb_4bit_compute_dtype": "bfloat16", "bnb_4bit_quant_storage": "uint8"}}
    golden = Golden(folder, PACKAGE, "Params4bit.from_prequantized state dict of quantize_4bit, dequantize_4bit", "A", config=config,
                    note="backend: cpu; the file's own absmax and code, float32 product, one rounding")
    if kind == "fp4":
        golden.manifest["bf16"]["either_zero"] = True  # its two CPU paths disagree about the sign of the code 8; its stored map says +0
    layers = {"self_attn.q_proj": plain(9, 128, 1), "self_attn.k_proj": plain(5, 37, 2), "self_attn.v_proj": edges(8, 64, 3, tiny=2.0**-100, huge=2.0**90),
              "mlp.up_proj": plain(3, 33, 4)}
    if nested:
        layers |= {"self_attn.v_proj": edges(8, 64, 3, tiny=2.0**-8, huge=8.0), **({"mlp.gate_proj": plain(257, 65, 6)} if kind == "nf4" else {})}  # more than 256 blocks
    for stem, weight in layers.items():
        packed, state = F.quantize_4bit(weight, blocksize=blocksize, compress_statistics=nested, quant_type=kind)
        if stem.endswith("k_proj"):
            packed = every_byte(packed)
        stored = {"weight": packed} | {f"weight.{key}": value for key, value in state.as_dict(packed=True).items()}
        made = {}
        for dtype in (torch.bfloat16, torch.float32):
            state.dtype = dtype
            made[dtype] = F.dequantize_4bit(packed, state)
        golden.layer(f"model.layers.0.{stem}", stored, made[torch.bfloat16], None if nested else made[torch.float32])
    golden.keep("model.layers.0.input_layernorm.weight", plain(1, 32, 7)[0].contiguous())
    golden.write()


def eight_bits(folder, layers, note=""):
    config = CONFIG | {"quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True, "load_in_4bit": False, "llm_int8_threshold": 6.0}}
    golden = Golden(folder, PACKAGE, "Linear8bitLt.state_dict of int8_vectorwise_quant, int8_vectorwise_dequant", "A", config=config, note=note)
    for stem, weight in layers.items():
        codes, stats, _ = F.int8_vectorwise_quant(weight.to(torch.float16))
        if stem.endswith("k_proj"):
            codes = every_byte(codes)
        layer = bnb.nn.Linear8bitLt(weight.shape[1], weight.shape[0], bias=False, has_fp16_weights=False)
        layer.weight = bnb.nn.Int8Params(codes, has_fp16_weights=False, requires_grad=False, CB=codes, SCB=stats)
        stored = {key: value for key, value in layer.state_dict().items()}
        f32 = F.int8_vectorwise_dequant(codes, stats)
        golden.layer(f"model.layers.0.{stem}", stored, f32.to(torch.bfloat16), f32)
    golden.keep("model.layers.0.input_layernorm.weight", plain(1, 32, 7)[0].contiguous())
    golden.write()


def main():
    layers = {"self_attn.q_proj": plain(17, 45, 1), "self_attn.k_proj": plain(9, 64, 2), "self_attn.v_proj": scaled(13, 40, 3, 2.0**-9),
              "mlp.up_proj": scaled(6, 33, 4, 2.0**8)}
    eight_bits("bnb-llm-int8", layers)
    eight_bits("bnb-llm-int8-zero-rows", {"self_attn.v_proj": edges(13, 40, 3, tiny=2.0**-12, huge=2.0**10)}, "bitsandbytes gives a row of zeros SCB 0")
    for kind in ("nf4", "fp4"):
        four_bits(f"bnb-{kind}", kind, False)
        four_bits(f"bnb-{kind}-double", kind, True)


if __name__ == "__main__":
    main()
