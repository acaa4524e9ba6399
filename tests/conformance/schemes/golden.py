"""What every maker here shares: weights worth quantizing, and the folder one golden is written to."""
import importlib.metadata
import json
import pathlib

import safetensors
import torch
from safetensors.torch import save_file

HOME = pathlib.Path(__file__).resolve().parents[2] / "golden/schemes"
MOST_BYTES = 60_000
# The tools that multiply in bf16, which is our recipe target-mul-rne: there they are matched bit by bit.
TARGET_MUL_RNE = {"ck-float8-e4m3", "ck-float8-e4m3-in-metadata", "ck-float8-e5m2", "ck-nvfp4", "ck-nvfp4-padded", "ctq-nvfp4", "modelopt-fp8"}


def version(package):
    return importlib.metadata.version(package)


def plain(high, wide, seed, dtype=torch.bfloat16):
    """Like a trained layer: nearly normal, with a few outliers."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(high, wide, generator=generator) * 0.03
    weight[torch.rand(high, wide, generator=generator) > 0.995] *= 12
    return weight.to(dtype)


def edges(high, wide, seed, dtype=torch.bfloat16, tiny=2.0**-120, huge=2.0**100):
    """Rows that make scales degenerate: all zero, nearly subnormal, huge, one value only, -0, and a zero half."""
    weight = plain(high, wide, seed, torch.float32)
    rows = [lambda row: row.zero_(), lambda row: row.mul_(tiny), lambda row: row.mul_(huge),
            lambda row: row.zero_().index_fill_(0, torch.tensor([wide - 1]), -0.75), lambda row: row.abs_().neg_(),
            lambda row: row[:wide // 2].zero_(), lambda row: row.fill_(0.25), lambda row: row.mul_(0).neg_()]
    for index, change in enumerate(rows[:high]):
        change(weight[index])
    return weight.to(dtype)


def scaled(high, wide, seed, factor, dtype=torch.bfloat16):
    return (plain(high, wide, seed, torch.float32) * factor).to(dtype)


def every_byte(payload, first=0):
    """The same payload, its first bytes replaced by 0, 1, 2, ... (256 of them, or as many as there are)."""
    flat = payload.contiguous().view(torch.uint8).flatten().clone()
    count = min(256, flat.numel())
    flat[:count] = (torch.arange(count) + first).to(torch.uint8)
    return flat.view(payload.contiguous().view(torch.uint8).shape).view(payload.dtype)


def text_tensor(text):
    return torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8).clone()


class Golden:
    """One checkpoint as a tool's users find it, and beside it what that tool makes of it."""

    def __init__(self, scheme, package, called, convention, *, exact=True, max_ulp=0, config=None, metadata=None, note="", remark=None,
                 tool_version=None):
        self.folder = HOME / scheme
        self.config, self.metadata = config, {"format": "pt"} if metadata is None else metadata
        self.stored, self.bf16, self.f32 = {}, {}, {}
        self.manifest = {"scheme": scheme, "tool": package, "version": tool_version or version(package), "torch": torch.__version__,
                         "safetensors": safetensors.__version__, "called": called, "convention": convention,
                         "bf16": {"file": "expected.safetensors", "exact": exact, **({} if exact else {"max_ulp": max_ulp})}}
        if scheme in TARGET_MUL_RNE:
            self.manifest["bf16"]["recipe"] = "target-mul-rne"
        if note:
            self.manifest["note"] = note

    def layer(self, stem, stored, bf16, f32=None, name=None):
        """`stored` by its ending on disk; `bf16` and `f32` as the tool gave them."""
        for ending, tensor in stored.items():
            self.stored[f"{stem}.{ending}" if ending else stem] = tensor.detach().contiguous().clone()
        name = name or f"{stem}.weight"
        assert bf16.dtype == torch.bfloat16, (name, bf16.dtype)
        self.bf16[name] = bf16.detach().contiguous().clone()
        if f32 is not None:
            assert f32.dtype == torch.float32, (name, f32.dtype)
            self.f32[name] = f32.detach().contiguous().clone()

    def keep(self, name, tensor):
        """A tensor that is not quantized, and must come through as it is."""
        self.stored[name] = self.bf16[name] = tensor

    def drop(self, name, tensor):
        """A tensor that only the quantized form needs."""
        self.stored[name] = tensor

    def refuse(self, words):
        """The product must not convert this file, and must say so in these words."""
        self.manifest["refused"] = words

    def write(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.iterdir():
            old.unlink()
        self.manifest["kept"] = sorted(name for name in self.stored if name in self.bf16 and self.stored[name] is self.bf16[name])
        save_file(self.stored, self.folder / "model.safetensors", metadata=self.metadata)
        if "refused" in self.manifest:
            del self.manifest["bf16"]
        else:
            save_file(self.bf16, self.folder / "expected.safetensors")
        if self.f32:
            save_file(self.f32, self.folder / "expected_f32.safetensors")
            self.manifest["f32"] = {"file": "expected_f32.safetensors", "rounded_once_is_exact": True}
        if self.config is not None:
            (self.folder / "config.json").write_text(json.dumps(self.config, indent=1) + "\n")
        (self.folder / "manifest.json").write_text(json.dumps(self.manifest, indent=1) + "\n")
        size = sum(path.stat().st_size for path in self.folder.iterdir())
        assert size < MOST_BYTES, f"{self.folder.name}: {size} bytes"
        print(f"{self.folder.name}: {size} bytes")
