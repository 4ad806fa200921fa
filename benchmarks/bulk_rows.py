"""The least work that a command does with recordings: `python -m benchmarks.bulk_rows FILE`.

It decodes each row of a file, plain or compressed, and writes it again. `benchmarks.bulk` compares with it.
"""

from __future__ import annotations

import sys
from typing import BinaryIO

import msgspec

from toolparity.cassettes.sources.files import opened
from toolparity.cassettes.sources.recordings import RecordingRow


def copy(path: str, out: BinaryIO) -> None:
    """Write every row of a file of recordings as JSON."""
    decode = msgspec.json.Decoder(RecordingRow).decode
    encode = msgspec.json.Encoder().encode
    with opened(path) as file:
        for line in file.stream:
            out.write(encode(decode(line)) + b"\n")


if __name__ == "__main__":
    copy(sys.argv[1], sys.stdout.buffer)
