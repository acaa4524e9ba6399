"""torchao: quantize_ on a small model, flattened by its own safetensors support."""
import torch
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict
from torchao.quantization import Float8WeightOnlyConfig, Int8WeightOnlyConfig, quantize_

from golden import Golden, edges, plain

PACKAGE = "torchao"


def make(folder, config, layers, convention, called, **rest):
    model = torch.nn.ModuleDict()
    for stem, weight in layers.items():
        model[stem] = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=weight.dtype)
        model[stem].weight.data = weight.clone()
    quantize_(model, config)
    state = {name: tensor for name, tensor in model.state_dict().items()}
    flat, metadata = flatten_tensor_state_dict(state)
    golden = Golden(folder, PACKAGE, called, convention, metadata=dict(metadata) | {"format": "pt"}, **rest)
    for name, tensor in state.items():
        golden.layer(name, {}, tensor.dequantize(torch.bfloat16) if "float8" in folder or "mx" in folder or "nvfp4" in folder else tensor.dequantize().to(torch.bfloat16), name=name)
    for name, tensor in flat.items():
        golden.drop(name, tensor.contiguous())
    golden.write()


def main():
    layers = {"q_proj": plain(17, 48, 1), "k_proj": plain(9, 64, 2), "v_proj": edges(13, 32, 3, tiny=2.0**-60)}
    make("torchao-float8", Float8WeightOnlyConfig(), layers, "A", "quantize_(Float8WeightOnlyConfig), flatten_tensor_state_dict, Float8Tensor.dequantize")
    try:
        make("torchao-int8", Int8WeightOnlyConfig(version=2), layers, "A", "quantize_(Int8WeightOnlyConfig), flatten_tensor_state_dict, dequantize", exact=False, max_ulp=2)
    except Exception as problem:  # an older format with no flattening
        print("torchao-int8:", type(problem).__name__, problem)


if __name__ == "__main__":
    main()
