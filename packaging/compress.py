#!/usr/bin/env python3
"""compress.py FILE OUT.gz: gzip without name and time, so that the same file gives the same bytes."""

import gzip
import pathlib
import sys


def compressed(data):
    return gzip.compress(data, compresslevel=9, mtime=0)


if __name__ == "__main__":
    pathlib.Path(sys.argv[2]).write_bytes(compressed(pathlib.Path(sys.argv[1]).read_bytes()))
