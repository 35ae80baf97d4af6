#!/usr/bin/env python3
"""No call that stops or allocates on a whole device is made once a card is open.

cudaMalloc, cudaFree, cudaMemGetInfo and their like may stand in src/gpu/runtime_cuda.cc alone,
device buffers and pinned buffers are made by src/gpu/card.cc alone (tests and benches aside), and
nothing waits for a device as a whole.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "src"
NEVER = re.compile(
    r"\b(cudaDeviceSynchronize|cudaMemPoolTrimTo|cudaMallocAsync|cudaMallocManaged|cudaDeviceReset)\b"
)
RUNTIME_ONLY = re.compile(
    r"\b(cudaMalloc|cudaFree|cudaMallocHost|cudaHostAlloc|cudaFreeHost|cudaHostRegister|"
    r"cudaHostUnregister|cudaMemGetInfo|cudaStreamSynchronize)\b"
)
CARD_ONLY = re.compile(
    r"\b(DeviceBuffer<[^;]*>::allocate|PinnedBuffer<[^;]*>::allocate|free_bytes_at_start)\b"
)


def main() -> int:
    wrong = []
    for path in sorted(ROOT.rglob("*")):
        if path.suffix not in {".h", ".cc", ".cu", ".cuh", ".inl"}:
            continue
        name = path.relative_to(ROOT).as_posix()
        aside = re.search(r"_(test|bench)\.(cc|cu)$", name) is not None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0]
            if NEVER.search(code):
                wrong.append(f"{name}:{number}: {code.strip()}")
            if RUNTIME_ONLY.search(code) and name != "gpu/runtime_cuda.cc" and not aside:
                wrong.append(f"{name}:{number}: {code.strip()}")
            allowed = name == "gpu/card.cc" or name.startswith("gpu/runtime") or aside
            if CARD_ONLY.search(code) and not allowed:
                wrong.append(f"{name}:{number}: {code.strip()}")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
