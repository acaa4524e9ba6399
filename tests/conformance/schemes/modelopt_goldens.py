"""nvidia-modelopt: what its export packs, by the same functions, and what its QTensor classes make of it."""
import torch
from modelopt.torch.export.quant_utils import from_quantized_weight, to_quantized_weight
from modelopt.torch.quantization.qtensor import MXFP4QTensor, MXFP8QTensor, NVFP4QTensor

from golden import Golden, edges, every_byte, plain, scaled, version

PACKAGE = "nvidia-modelopt"


def config(algorithm, **more):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
            "quantization_config": {"quant_method": "modelopt", "quant_algo": algorithm, "ignore": ["lm_head"],
                                    "producer": {"name": "modelopt", "version": version(PACKAGE)}, **more}}


def make(folder, called, convention, configuration, layers, quantize, either_zero=False, **rest):
    golden = Golden(folder, PACKAGE, called, convention, config=configuration, **rest)
    if either_zero:
        golden.manifest["bf16"]["either_zero"] = True
    for stem, weight in layers.items():
        stored, bf16, f32 = quantize(stem, weight)
        golden.layer(f"model.layers.0.{stem}", stored, bf16, f32)
    golden.keep("lm_head.weight", plain(4, 32, 8))
    golden.write()


def codes(stem, payload):
    return every_byte(payload) if stem.endswith("k_proj") else payload


def nvfp4(stem, weight):
    second = NVFP4QTensor.get_weights_scaling_factor_2(weight)
    scale, second = NVFP4QTensor.get_weights_scaling_factor(weight, 16, second)
    packed = codes(stem, to_quantized_weight(weight, scale, "nvfp4", second, 16))
    tensor = NVFP4QTensor(weight.shape, weight.dtype, packed)
    back = [tensor.dequantize(dtype=dtype, scale=scale, double_scale=second, block_sizes={-1: 16}) for dtype in (torch.bfloat16, torch.float32)]
    return {"weight": packed, "weight_scale": scale, "weight_scale_2": second}, *back


def fp8(stem, weight):
    scale = (weight.abs().amax().float() / 448).reshape(())
    payload = codes(stem, to_quantized_weight(weight, scale, "fp8"))
    back = [from_quantized_weight(payload, scale, "fp8", dtype) for dtype in (torch.bfloat16, torch.float32)]
    return {"weight": payload, "weight_scale": scale, "input_scale": torch.tensor(0.5)}, *back


def mxfp8(stem, weight):
    scale = MXFP8QTensor.get_weights_scaling_factor(weight)
    payload = codes(stem, to_quantized_weight(weight, scale, "mxfp8"))
    tensor = MXFP8QTensor(weight.shape, weight.dtype, payload)
    back = [tensor.dequantize(dtype=dtype, scale=scale) for dtype in (torch.bfloat16, torch.float32)]
    return {"weight": payload, "weight_scale": scale}, *back


def mxfp4(stem, weight):
    tensor, scale = MXFP4QTensor.quantize(weight, 32)
    tensor._quantized_data = codes(stem, tensor._quantized_data)
    back = [tensor.dequantize(dtype=dtype, scale=scale, block_sizes={-1: 32}) for dtype in (torch.bfloat16, torch.float32)]
    return {"weight": tensor._quantized_data, "weight_scale": scale.reshape(weight.shape[0], -1)}, *back


def main():
    fours = {"self_attn.q_proj": plain(10, 96, 1), "self_attn.k_proj": plain(17, 32, 2), "self_attn.v_proj": edges(9, 64, 3, tiny=2.0**-8, huge=16.0),
             "mlp.up_proj": scaled(7, 48, 4, 2.0**-90), "mlp.gate_proj": plain(5, 16, 6, torch.float32)}
    make("modelopt-nvfp4", "NVFP4QTensor, export to_quantized_weight, NVFP4QTensor.dequantize", "A", config("NVFP4", group_size=16), fours, nvfp4, either_zero=True,
         note="its table of values has +0 for code 8, which E2M1 reads as -0")
    tensors = {"self_attn.q_proj": plain(17, 45, 1), "self_attn.k_proj": plain(9, 64, 2), "self_attn.v_proj": scaled(7, 40, 3, 2.0**-100), "mlp.up_proj": plain(6, 33, 4, torch.float32)}
    make("modelopt-fp8", "export to_quantized_weight, from_quantized_weight", "B in the output dtype", config("FP8"), tensors, fp8, exact=False, max_ulp=2)
    eights = {"self_attn.q_proj": plain(10, 96, 1), "self_attn.k_proj": plain(17, 32, 2), "self_attn.v_proj": edges(9, 64, 3, tiny=2.0**-90)}
    make("modelopt-mxfp8", "MXFP8QTensor, export to_quantized_weight, MXFP8QTensor.dequantize", "A", config("MXFP8", group_size=32), eights, mxfp8)
    make("modelopt-mxfp4", "MXFP4QTensor.quantize and .dequantize", "A", config("MXFP4", group_size=32), eights, mxfp4)


if __name__ == "__main__":
    main()
