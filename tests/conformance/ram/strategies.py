"""One way of loading, in a process of its own: strategies.py NAME CHECKPOINT.

Imports, says "ready" and waits for a line; then loads, says "loaded" and waits again, so that calibrate.py can read
the memory before, while and after. "installed" strategies call the library itself; "reimplemented" ones are the loop
that the application's source documents, in our own words, because the application cannot be installed here.
"""
import glob
import os
import sys

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file


def files_of(folder):
    return sorted(glob.glob(os.path.join(folder, "*.safetensors")))


def only(folder):
    (path,) = files_of(folder)
    return path


class Held(torch.nn.Module):
    """Parameters taken over as they are, as load_state_dict(assign=True) does into a model on the meta device."""

    def __init__(self, state):
        super().__init__()
        for name, tensor in state.items():
            self.register_parameter(name.replace(".", "_"), torch.nn.Parameter(tensor, requires_grad=False))


def touch(tensor):
    """Reads every page without copying."""
    tensor.view(torch.uint8).reshape(-1)[::4096].sum() if tensor.dim() else tensor.item()


def invokeai(path, dequantize):
    """krea2.py: dequantize into a second dict while the caller still holds the first, then cast what is left."""
    state = load_file(only(path))
    state = dequantize(state)
    for name in list(state):
        state[name] = state[name].to(torch.bfloat16)
    for tensor in state.values():
        touch(tensor)
    return Held(state)


def scales_of(state):
    return [name for name in state if name.endswith(".weight_scale")]


def through_float32(state):
    out = dict(state)
    for scale in scales_of(state):
        name = scale.replace(".weight_scale", ".weight")
        weight = out[name].float()
        out[name] = weight * out[scale].float()
        del out[scale]
    return out


def straight_to_bf16(state):
    out = dict(state)
    for scale in scales_of(state):
        name = scale.replace(".weight_scale", ".weight")
        weight = out[name].float()
        out[name] = (weight * out[scale].float()).to(torch.bfloat16)
        del weight
        del out[scale]
    return out


def in_place(state):
    for scale in scales_of(state):
        name = scale.replace(".weight_scale", ".weight")
        weight = state[name].float()
        state[name] = (weight * state[scale].float()).to(torch.bfloat16)
        del state[scale]
    return state


def keep_mapped(path):
    """ComfyUI's mixed precision layers, InvokeAI's Ideogram-4: parameters are views; a layer is widened when used."""
    held = Held(load_file(only(path)))
    for tensor in held.parameters():
        touch(tensor)
        if tensor.dtype == torch.float8_e4m3fn:
            tensor.to(torch.bfloat16)
    return held


def keep_copied(path):
    """ComfyUI's older layers: parameters are allocated first, load_state_dict copies into them."""
    state = load_file(only(path))
    model = {name: torch.empty(tensor.shape, dtype=tensor.dtype) for name, tensor in state.items()}
    for name, tensor in state.items():
        model[name].copy_(tensor)
    del state
    for tensor in model.values():
        if tensor.dtype == torch.float8_e4m3fn:
            tensor.to(torch.bfloat16)
    return model


def keep_read(path):
    """load_torch_file with --disable-mmap: every tensor is copied out of the mapping."""
    state = {}
    with safe_open(only(path), framework="pt", device="cpu") as file:
        for name in file.keys():
            state[name] = file.get_tensor(name).to(device="cpu", copy=True)
    for tensor in state.values():
        if tensor.dtype == torch.float8_e4m3fn:
            tensor.to(torch.bfloat16)
    return state


def safetensors_mmap(path):
    state = load_file(only(path))
    for tensor in state.values():
        touch(tensor)
    return state


def safetensors_bytes(path):
    with open(only(path), "rb") as file:
        return load(file.read())


def pickled(path):
    return os.path.join(path, "model.pt")


def torch_load(path):
    return torch.load(pickled(path), map_location="cpu", weights_only=True, mmap=False)


def native_buffer(path):
    """llama.cpp and stable-diffusion.cpp without mmap: one buffer for all weights, each tensor read and put there."""
    import json
    import struct

    with open(only(path), "rb", buffering=0) as file:
        (length,) = struct.unpack("<Q", file.read(8))
        entries = json.loads(file.read(length))
        wide = {"F8_E4M3": 2}
        sizes = {name: (e["data_offsets"], wide.get(e["dtype"], 1)) for name, e in entries.items()
                 if not name.endswith("_scale")}
        buffer = torch.empty(sum((end - begin) * times for (begin, end), times in sizes.values()), dtype=torch.uint8)
        at = 0
        for (begin, end), times in sizes.values():
            read = torch.empty(end - begin, dtype=torch.uint8)
            file.seek(8 + length + begin)
            file.readinto(memoryview(read.numpy()).cast("B"))
            target = buffer[at:at + (end - begin) * times]
            # ggml widens into the buffer, without another copy
            target.view(torch.float16).copy_(read.view(torch.float8_e4m3fn)) if times == 2 else target.copy_(read)
            at += (end - begin) * times
    return buffer


def diffusers(path, dtype):
    from diffusers import FluxTransformer2DModel

    model = FluxTransformer2DModel.from_pretrained(path, torch_dtype=dtype, low_cpu_mem_usage=True)
    for tensor in model.parameters():
        touch(tensor)
    return model


def transformers(path, dtype="auto", **more):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype, **more)
    for tensor in model.parameters():
        touch(tensor.data)
    return model


def transformers_dequantize(path):
    from transformers import FineGrainedFP8Config

    return transformers(path, torch.bfloat16, quantization_config=FineGrainedFP8Config(dequantize=True))


# name -> (checkpoint, row of the loader table, --dtype, where the code comes from, function)
STRATEGIES = {
    "InvokeAI before the fix": ("fp8_diffusion", "invokeai_float32", None, "reimplemented",
                                lambda path: invokeai(path, through_float32)),
    "InvokeAI after the fix": ("fp8_diffusion", "invokeai_bf16", None, "reimplemented",
                               lambda path: invokeai(path, straight_to_bf16)),
    "InvokeAI in place": ("fp8_diffusion", "invokeai_in_place", None, "reimplemented",
                          lambda path: invokeai(path, in_place)),
    "InvokeAI fp8 kept": ("fp8_diffusion", "invokeai_fp8_resident", None, "reimplemented", keep_mapped),
    "ComfyUI, copied": ("fp8_diffusion", "comfyui_legacy", None, "reimplemented", keep_copied),
    "ComfyUI, kept mapped": ("fp8_diffusion", "comfyui_comfy_quant", None, "reimplemented", keep_mapped),
    "ComfyUI --disable-mmap": ("fp8_diffusion", "comfyui_no_mmap", None, "reimplemented", keep_read),
    "safetensors load_file": ("fp8_diffusion", "safetensors_mmap", None, "installed", safetensors_mmap),
    "safetensors load(bytes)": ("fp8_diffusion", "safetensors_bytes", None, "installed", safetensors_bytes),
    "torch.load": ("fp8_diffusion", "torch_load", None, "installed", torch_load),
    "stable-diffusion.cpp": ("fp8_diffusion", "stable_diffusion_cpp", None, "reimplemented", native_buffer),
    "diffusers bf16": ("bf16_diffusion", "diffusers", "bf16", "installed", lambda path: diffusers(path, torch.bfloat16)),
    "diffusers float32": ("bf16_diffusion", "diffusers", "float32", "installed",
                          lambda path: diffusers(path, torch.float32)),
    "transformers bf16": ("bf16_language", "transformers", None, "installed", transformers),
    "transformers float32": ("bf16_language", "transformers", "float32", "installed",
                             lambda path: transformers(path, torch.float32)),
    "transformers dequantize": ("fp8_language", "transformers_dequantize", None, "installed", transformers_dequantize),
}


def prepare(name, path):
    """Imports and first calls that would otherwise be counted as loading."""
    if name.startswith("diffusers"):
        from diffusers import FluxTransformer2DModel  # noqa: F401
    if name.startswith("transformers"):
        from transformers import AutoModelForCausalLM  # noqa: F401
        from transformers.models.llama import modeling_llama  # noqa: F401
    small = torch.ones(64, 64)
    for dtype in (torch.float8_e4m3fn, torch.bfloat16, torch.float16):
        (small.to(dtype).float() * small).to(torch.bfloat16)
    touch(small)


def main():
    name, path = sys.argv[1:]
    prepare(name, path)
    print("ready", flush=True)
    sys.stdin.readline()
    with torch.no_grad():
        held = STRATEGIES[name][-1](path)
    print("loaded", flush=True)
    sys.stdin.readline()
    del held


if __name__ == "__main__":
    main()
