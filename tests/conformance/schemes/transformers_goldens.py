"""transformers' gpt-oss: blocks and scales as they lie on disk, and convert_moe_packed_tensors."""
import torch
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from golden import Golden, every_byte, plain

PACKAGE = "transformers"


def main():
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
