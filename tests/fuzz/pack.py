#!/usr/bin/env python3
"""Packs a folder of fuzz inputs into a file of corpus/, one JSON string per line whose characters are the input's
bytes, and unpacks it.

    pack.py pack FOLDER FILE [BYTES]    the smallest inputs first, as long as FILE has at most BYTES (40,000)
    pack.py unpack FILE FOLDER
"""
import hashlib
import json
import pathlib
import sys


def pack(folder, file, most):
    inputs = sorted((path.read_bytes() for path in pathlib.Path(folder).iterdir()), key=lambda each: (len(each), each))
    lines, size = [], 0
    for each in inputs:
        line = json.dumps(each.decode("latin-1"), ensure_ascii=True) + "\n"
        if size + len(line) > most:
            break
        lines.append(line)
        size += len(line)
    pathlib.Path(file).write_text("".join(sorted(lines)), encoding="ascii")
    print(f"{file}: {len(lines)} of {len(inputs)} inputs, {size} bytes")


def unpack(file, folder):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for line in pathlib.Path(file).read_text(encoding="ascii").splitlines():
        data = json.loads(line).encode("latin-1")
        (pathlib.Path(folder) / hashlib.sha1(data).hexdigest()).write_bytes(data)


if __name__ == "__main__":
    if sys.argv[1:2] == ["pack"] and len(sys.argv) in (4, 5):
        pack(sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) == 5 else 40_000)
    elif sys.argv[1:2] == ["unpack"] and len(sys.argv) == 4:
        unpack(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
