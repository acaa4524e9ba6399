"""compressed-tensors as it was when it still wrote weight_g_idx (activation order by group): a version of its own.

Run with that version's folder in PYTHONPATH; run.sh does.
"""
import json

import torch
from compressed_tensors.compressors.quantized_compressors.pack_quantized import PackedQuantizationCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme
from compressed_tensors.quantization.utils import calculate_qparams
from compressed_tensors.version import __version__

from golden import Golden, edges, every_byte, plain

PACKAGE = "compressed-tensors"


def main():
    args = QuantizationArgs(num_bits=4, type="int", symmetric=True, strategy="group", group_size=32, actorder="group")
    quantization = QuantizationConfig(config_groups={"group_0": QuantizationScheme(targets=["Linear"], weights=args)}, format="pack-quantized",
                                      quantization_status="compressed", ignore=["lm_head"])
    golden = Golden("ct-pack-quantized-int4-group-actorder", PACKAGE, "PackedQuantizationCompressor.compress_weight and .decompress_weight with g_idx",
                    "B in the dtype of the scale, which rounds the same", tool_version=__version__,
                    config={"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
                            "quantization_config": json.loads(quantization.model_dump_json())})
    compressor = PackedQuantizationCompressor(config=quantization)
    layers = {"self_attn.q_proj": plain(10, 96, 11), "self_attn.k_proj": plain(8, 64, 12), "self_attn.v_proj": edges(11, 64, 13),
              "mlp.up_proj": plain(7, 128, 14, torch.float32)}
    for index, (stem, weight) in enumerate(layers.items()):
        wide = weight.shape[1]
        order = torch.randperm(wide, generator=torch.Generator().manual_seed(index))
        groups = torch.empty(wide, dtype=torch.int32)
        groups[order] = (torch.arange(wide) // args.group_size).to(torch.int32)
        parts = weight[:, torch.argsort(groups, stable=True)].reshape(weight.shape[0], -1, args.group_size)
        scale, zero = calculate_qparams(parts.amin(-1), parts.amax(-1), args)
        state = compressor.compress_weight(weight, scale, args, zero_point=zero.to(torch.int8), g_idx=groups)
        if stem.endswith("k_proj"):
            state["weight_packed"] = every_byte(state["weight_packed"])
        state |= {"weight_scale": scale, "weight_g_idx": groups}
        wider = compressor.decompress_weight(state | {"weight_scale": scale.float()}, args)
        golden.layer(f"model.layers.0.{stem}", state, compressor.decompress_weight(state, args).to(torch.bfloat16), wider)
    golden.keep("lm_head.weight", plain(4, 32, 8))
    golden.write()


if __name__ == "__main__":
    main()
