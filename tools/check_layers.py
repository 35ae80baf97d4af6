#!/usr/bin/env python3
"""Checks that every include in src/ goes to the same room or strictly down, and that what may know
CUDA, gRPC or HTTP is where it belongs. Exits 1 and names each offending line otherwise."""

import pathlib
import re
import sys

LEVELS = {
    "base": 0, "gpu": 1, "field": 2, "scheduler": 2, "curve": 3, "ntt": 3, "msm": 4, "r1cs": 4,
    "groth16": 5, "gadget": 5, "aggregate": 6, "filecoin": 6, "circom": 6, "format": 7, "engine": 8,
    "capi": 9, "bench": 9, "daemon": 9, "cli": 10,
}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
CUDA_HEADER = re.compile(r"^(cuda|cub/|thrust/|nvtx)")
WIRE_HEADER = re.compile(r"^(grpc|google/protobuf|httplib\.h|cuzk/v1/|cuzk/operations/)")


def may_include_cuda(path: pathlib.Path) -> bool:
    return path.parts[0] == "gpu" or "_cuda" in path.name or path.suffix in (".cu", ".cuh")


def problems_of(path: pathlib.Path, text: str):
    room = path.parts[0]
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        if CUDA_HEADER.match(target) and not may_include_cuda(path):
            yield f"{path}:{number}: CUDA header <{target}> outside gpu/, *_cuda* and .cuh files"
        if WIRE_HEADER.match(target) and room != "daemon":
            yield f"{path}:{number}: <{target}> outside daemon/, which alone knows gRPC and HTTP"
        if target.endswith(".pb.h"):  # made from proto/ at build time
            if room != "daemon":
                yield f'{path}:{number}: generated "{target}" outside daemon/'
            continue
        if quote != '"':
            continue
        other = target.split("/")[0]
        if "/" not in target or other not in LEVELS:
            yield f'{path}:{number}: "{target}" is not of the form "room/file.h"'
        elif other != room and LEVELS[other] >= LEVELS[room]:
            yield f"{path}:{number}: {room} (level {LEVELS[room]}) includes {other} (level {LEVELS[other]})"


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent / "src"
    found = []
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root)
        if file.suffix not in (".h", ".cc", ".cu", ".cuh", ".inl"):
            continue
        if path.parts[0] not in LEVELS:
            found.append(f"{path}: room '{path.parts[0]}' has no level in {__file__}")
            continue
        found.extend(problems_of(path, file.read_text()))
    # Tests of a room may use what is above it only through their own CMake DEPENDS; they count too.
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
