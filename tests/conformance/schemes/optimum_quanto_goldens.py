"""optimum-quanto: quantize_weight, the state dict its modules save, and dequantize."""
import torch
from optimum.quanto import QLinear, freeze, qfloat8_e4m3fn, qint2, qint4, qint8

from golden import Golden, edges, plain

PACKAGE = "optimum-quanto"


def make(folder, kind, layers, **rest):
    golden = Golden(folder, PACKAGE, "QLinear.from_module, freeze, state_dict, weight.dequantize", "B in the dtype of the scale", **rest)
    for stem, weight in layers.items():
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=weight.dtype)
        linear.weight.data = weight.clone()
        layer = QLinear.from_module(linear, weights=kind)
        freeze(layer)
        stored = {key: value for key, value in layer.state_dict().items() if isinstance(value, torch.Tensor)}
        golden.layer(f"blocks.0.{stem}", stored, layer.weight.dequantize().to(torch.bfloat16))
    golden.keep("blocks.0.norm.weight", plain(1, 32, 7)[0].contiguous())
    golden.write()


def main():
    rows = {"q_proj": plain(17, 45, 1), "k_proj": plain(9, 64, 2)}
    make("quanto-int8", qint8, rows)
    make("quanto-float8", qfloat8_e4m3fn, rows)
    make("quanto-int4", qint4, {"q_proj": plain(16, 128, 1, torch.float32), "k_proj": plain(6, 256, 2, torch.float32)}, exact=False, max_ulp=2)


if __name__ == "__main__":
    main()
