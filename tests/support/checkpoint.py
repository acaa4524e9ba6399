"""Reading .safetensors files for tests: a second opinion that shares no code with the core.

Deliberately small and strict: whatever our own writer produces must satisfy it.
"""
import hashlib
import json
import pathlib
from dataclasses import dataclass

# Ascending order of the reference writer, which writes in descending order: a tensor of wider elements first.
WRITE_ORDER = ("BOOL F4 F6_E2M3 F6_E3M2 U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ "
               "I16 U16 F16 BF16 I32 U32 F32 C64 F64 I64 U64").split()
COPY_STEP = 1 << 22


@dataclass
class Tensor:
    name: str
    dtype: str
    shape: list
    path: pathlib.Path
    begin: int  # absolute, in the file
    end: int

    def data(self):
        with open(self.path, "rb") as file:
            file.seek(self.begin)
            return file.read(self.end - self.begin)

    def sha256(self):
        digest = hashlib.sha256()
        with open(self.path, "rb") as file:
            file.seek(self.begin)
            left = self.end - self.begin
            while left:
                piece = file.read(min(left, COPY_STEP))
                if not piece:
                    raise ValueError(f"{self.path.name} ends inside {self.name}")
                digest.update(piece)
                left -= len(piece)
        return digest.hexdigest()

    def bits16(self, index_text):
        """The 16-bit pattern at "row,column", for messages a person can read."""
        flat = 0
        for index, size in zip(map(int, index_text.split(",")), self.shape):
            flat = flat * size + index
        with open(self.path, "rb") as file:
            file.seek(self.begin + 2 * flat)
            return int.from_bytes(file.read(2), "little")


def read(path):
    """(tensors in header order, metadata or None, header text) of one file."""
    path = pathlib.Path(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        text = file.read(length)
    header = json.loads(text, object_pairs_hook=list)
    metadata, tensors = None, []
    for name, entry in header:
        if name == "__metadata__":
            metadata = dict(entry or [])
            continue
        entry = dict(entry)
        begin, end = entry["data_offsets"]
        tensors.append(Tensor(name, entry["dtype"], entry["shape"], path, 8 + length + begin, 8 + length + end))
    return tensors, metadata, text


def read_set(path):
    """{name: Tensor} and merged metadata of a file, or of all files of a folder."""
    path = pathlib.Path(path)
    tensors, metadata = {}, {}
    for file in [path] if path.is_file() else sorted(path.rglob("*.safetensors")):
        rows, some, _ = read(file)
        metadata.update(some or {})
        tensors.update((row.name, row) for row in rows)
    return tensors, metadata


def layout_faults(path):
    """What distinguishes this file's layout from the reference writer's; empty when nothing does."""
    tensors, metadata, text = read(path)
    faults = []
    if (8 + len(text)) % 8:
        faults.append("header is not padded to a multiple of 8 bytes")
    want = sorted(tensors, key=lambda row: (-WRITE_ORDER.index(row.dtype), row.name.encode()))
    if [row.name for row in want] != [row.name for row in tensors]:
        faults.append("tensors are not in the reference writer's order")
    position = 8 + len(text)
    for row in tensors:
        if row.begin != position:
            faults.append(f"{row.name} begins at {row.begin}, not at {position}")
        position = row.end
    if position != pathlib.Path(path).stat().st_size:
        faults.append(f"{position} bytes described, {pathlib.Path(path).stat().st_size} in the file")
    if metadata is not None and not all(isinstance(value, str) for value in metadata.values()):
        faults.append("metadata holds something that is not a string")
    return faults
