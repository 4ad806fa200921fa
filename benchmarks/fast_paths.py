"""Print the share of recorded traffic that takes the fast paths: `python -m benchmarks.fast_paths RECORDINGS`.

A body takes the fast path if the strict schema fits and, on a wire with a separate path for regular bodies, that path
returns the response. An event of a stream takes it if the wire's reader for events of any type does not parse it.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
from tabulate import tabulate

from toolparity import Wire, normalize
from toolparity.normalizer.wires.registry import spec

from .readers import ours_streamed
from .recorded import Exchange, exchanges
from .traffic import JSON_WIRES


class Share(msgspec.Struct):
    """Bodies, or events of streams, of one provider. ``recordings``: how many it has."""

    wire: str
    provider: str
    kind: str
    recordings: int = 0
    total: int = 0
    fast: int = 0

    @property
    def percent(self) -> float:
        """The share that takes the fast path, in percent."""
        return 100 * self.fast / self.total


class _Counter:
    """Counts what the general readers of a wire parse, while its patches are active."""

    def __init__(self, wire: Wire) -> None:
        self.general = 0
        self._stream: Any = spec(wire).stream
        self._decoder: Any = import_module(spec(wire).decode.__module__)
        self._event, self._read = self._stream.event, self._decoder.read_whole

    def read_whole(self, reader: Any, data: bytes, context: Any) -> Any:
        """Replace the reader of bodies. On other wires than chat, it is general only if it finds a deviation."""
        before = len(context.findings)
        body = self._read(reader, data, context)
        self.general += hasattr(self._decoder, "decode_regular") or len(context.findings) > before
        return body

    def of(self, exchange: Exchange) -> int:
        """Decode a recording and return how often a general reader was needed."""
        self.general = 0

        def event(stream: Any, name: str | None, data: bytes, out: list[Any]) -> None:
            self.general += data != b"[DONE]"
            self._event(stream, name, data, out)

        with patch.object(self._stream, "event", event), patch.object(self._decoder, "read_whole", self.read_whole):
            if exchange.stream:
                ours_streamed(exchange.wire)(exchange.pieces)
            else:
                normalize(exchange.data, exchange.wire, provider=exchange.provider)
        return self.general


def shares(folder: Path, wire: Wire, every: int = 1) -> list[Share]:
    """Return the shares of each provider of a wire, those with the most recordings first.

    ``every``: 1 reads all recordings, 20 every twentieth one.
    """
    counter = _Counter(wire)
    found: dict[tuple[str, str], Share] = {}
    for exchange in islice(exchanges(folder, wire), 0, None, every):
        kind = "events" if exchange.stream else "bodies"
        provider = exchange.provider or "unknown"
        share = found.setdefault((provider, kind), Share(wire, provider, kind))
        total = len(exchange.payloads)
        share.recordings += 1
        share.total += total
        share.fast += total - min(total, counter.of(exchange))
    return sorted(found.values(), key=lambda share: (share.kind, -share.recordings))


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fast_paths", description=__doc__)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--wire", action="append", choices=JSON_WIRES)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth recording")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    given = parser.parse_args()
    rows = [share for wire in given.wire or JSON_WIRES for share in shares(given.recordings, wire, given.every)]
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    headers = ["wire", "provider", "what", "recordings", "number", "fast path, %"]
    table = [(row.wire, row.provider, row.kind, row.recordings, row.total, row.percent) for row in rows]
    print(tabulate(table, headers, floatfmt=".1f", intfmt=","))
    return 0


if __name__ == "__main__":
    sys.exit(main())
