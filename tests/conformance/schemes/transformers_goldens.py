"""transformers' gpt-oss: blocks and scales as they lie on disk, and convert_moe_packed_tensors. Its FBGEMM layers and Llama-4 experts:
quantized by its own conversion, with stand-ins for the two FBGEMM kernels, which need a GPU.
"""
import types

import torch
from transformers.integrations import fbgemm_fp8
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from golden import Golden, every_byte, plain

PACKAGE = "transformers"


def quantize_fp8_per_row(rows, num_tokens=None, scale_ub=None):
    """What the FBGEMM kernel of this name is documented to do: amax / 448 a row."""
    scale = rows.float().abs().amax(-1).clamp(min=1e-12) / 448
    return (rows.float() / scale[:, None]).clamp(-448, 448).to(torch.float8_e4m3fn), scale


class Recorder:
    """Stands for torch.ops: f8f8bf16_rowwise(x [m, k], w [n, k], x_scale [m], w_scale [n]) multiplies by w * w_scale, which is noted here."""

    def __init__(self):
        self.weights = []
        self.fbgemm = types.SimpleNamespace(f8f8bf16_rowwise=self.multiply)

    def multiply(self, x, w, x_scale, w_scale, use_fast_accum=True):
        assert w_scale.numel() == w.shape[0] and x_scale.numel() == x.shape[0]
        self.weights.append(w.float() * w_scale.reshape(-1, 1))
        return ((x.float() * x_scale.reshape(-1, 1)) @ self.weights[-1].t()).to(torch.bfloat16)


def recorded(module, rows):
    recorder, real = Recorder(), fbgemm_fp8.torch
    fbgemm_fp8.torch = types.SimpleNamespace(**{name: getattr(real, name) for name in ("float32", "empty_like", "Tensor")}, ops=recorder)
    try:
        module(rows)
    finally:
        fbgemm_fp8.torch = real
    return recorder.weights


def fbgemm(folder, experts, hidden, inner, high, wide):
    fbgemm_fp8.quantize_fp8_per_row = quantize_fp8_per_row
    golden = Golden(folder, PACKAGE, "FbgemmFp8Quantize.convert, and what forward of FbgemmFp8Llama4TextExperts and FbgemmFp8Linear multiplies by", "A",
                    config={"architectures": ["Llama4ForCausalLM"], "model_type": "llama4_text", "torch_dtype": "bfloat16",
                            "quantization_config": {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0, "modules_to_not_convert": ["lm_head"]}},
                    note="derived: the FBGEMM kernels need a GPU; which scale belongs to which row is what transformers' forward hands to f8f8bf16_rowwise")
    model = torch.nn.Module()
    model.experts = fbgemm_fp8.FbgemmFp8Llama4TextExperts(types.SimpleNamespace(num_local_experts=experts, intermediate_size=inner, hidden_size=hidden, hidden_act="silu"))
    model.linear = fbgemm_fp8.FbgemmFp8Linear(wide, high, False)
    convert = fbgemm_fp8.FbgemmFp8Quantize(None).convert
    for seed, (name, shape) in enumerate({"experts.gate_up_proj": (experts, hidden, 2 * inner), "experts.down_proj": (experts, inner, hidden), "linear.weight": (high, wide)}.items()):
        weight = plain(shape[0] * shape[1] if len(shape) == 3 else shape[0], shape[-1], seed + hidden, torch.float32).reshape(shape)
        if len(shape) == 3:
            weight = weight * torch.linspace(0.25, 4, shape[-1])  # outputs of unequal size, so that a wrong axis shows
        for key, tensor in convert({name: [weight.to(torch.bfloat16)]}, model=model).items():
            owner, attribute = key.split(".")
            setattr(getattr(model, owner), attribute, torch.nn.Parameter(tensor.detach(), requires_grad=False))
    made = recorded(model.experts, plain(experts * 3, hidden, 9))
    gates, ups, downs = made[::3], made[1::3], made[2::3]
    root = "model.layers.0.feed_forward.experts."
    for name, f32 in (("gate_up_proj", torch.stack([torch.cat(both).t() for both in zip(gates, ups)])), ("down_proj", torch.stack([down.t() for down in downs]))):
        f32 = f32.contiguous()
        golden.layer(root + name, {"": getattr(model.experts, name)}, f32.to(torch.bfloat16), f32, name=root + name)
        golden.drop(root + name + "_scale", getattr(model.experts, name + "_scale").detach().contiguous())
    f32 = recorded(model.linear, plain(2, wide, 9))[0]
    golden.layer("model.layers.0.feed_forward.shared_expert.up_proj", {"weight": model.linear.weight, "weight_scale": model.linear.weight_scale}, f32.to(torch.bfloat16), f32)
    golden.keep("model.layers.0.feed_forward.router.weight", plain(experts, hidden, 4))
    golden.write()


def main():
    fbgemm("fbgemm-llama4", 3, 20, 12, 17, 45)
    fbgemm("fbgemm-llama4-square", 2, 16, 16, 16, 16)
    golden = Golden("gpt-oss-mxfp4", PACKAGE, "integrations.mxfp4.convert_moe_packed_tensors", "A: ldexp of a bf16 table",
                    config={"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "torch_dtype": "bfloat16",
                            "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router"]}},
                    note="no quantizer runs on this CPU: random payload; the numbers are the tool's. It transposes the last two dimensions.")
    generator = torch.Generator().manual_seed(1)
    experts = "model.layers.0.mlp.experts."
    for name, shape in (("gate_up_proj", (2, 12, 2, 16)), ("down_proj", (2, 10, 3, 16))):
        blocks = every_byte(torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8))
        scales = torch.randint(110, 131, shape[:-1], generator=generator, dtype=torch.uint8)
        scales.view(-1)[:6] = torch.tensor([0, 1, 2, 3, 250, 252], dtype=torch.uint8)
        made = convert_moe_packed_tensors(blocks.clone(), scales.clone())
        wider = convert_moe_packed_tensors(blocks.clone(), scales.clone(), dtype=torch.float32)
        golden.layer(experts + name, {}, made, wider, name=experts + name)
        golden.drop(experts + name + "_blocks", blocks)
        golden.drop(experts + name + "_scales", scales)
        golden.keep(experts + name + "_bias", plain(2, 8, 3))
    golden.keep("model.layers.0.mlp.router.weight", plain(2, 20, 4))
    golden.write()


if __name__ == "__main__":
    main()
