"""The fast paths return what the general readers return: the same response and the same findings.

Recordings are decoded with the fast paths and without them: bodies whole, streams whole, at random cuts and in the
pieces in which they came from the network.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks import fast_paths
from tests.normalizer.recorded.rows import decode, feed, rows, streams
from tests.normalizer.recorded.test_any_split import random_cuts, same
from tests.support import thoroughness
from tests.support.wires import BYTE_WIRES
from toolparity import StreamDecoder
from toolparity.normalizer.wires.call_builder import CallBuilder
from toolparity.normalizer.wires.registry import spec
from toolparity.normalizer.wires.stream_base import StreamBase


def without_fast_paths(wire: str, patch: pytest.MonkeyPatch) -> None:
    """Let the general readers decode everything, while the patch lasts."""
    patch.setattr(CallBuilder, "regular_call", lambda *arguments, **more: None)
    patch.setattr(spec(wire).stream, "run", StreamBase.run)
    for module in map(import_module, (spec(wire).decode.__module__, spec(wire).stream.__module__)):
        for name in ("decode_regular", "regular_choice"):
            if hasattr(module, name):
                patch.setattr(module, name, lambda *arguments: None)


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_a_response_is_the_same_without_the_fast_path(
    wire: str, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = [row for row in rows(recordings, wire) if not row.stream and row.data]
    found = [*thoroughness.sampled(bodies, plain=400), *thoroughness.sampled(streams(recordings, wire), plain=150)]
    for row in found:
        for request in (None, row.request) if isinstance(row.request, dict) else (None,):
            with monkeypatch.context() as patch:
                without_fast_paths(wire, patch)
                general = decode(row, request=request)
            if not row.stream:
                same(row, "without the fast path", general, decode(row, request=request))
                continue
            ways: list[Iterable[bytes]] = [[row.data], random_cuts(row, row.data), row.arrived or [row.data]]
            for how, pieces in zip(("whole", "at random cuts", "in its pieces"), ways, strict=True):
                same(row, f"with the fast path, {how}", general, feed(row, pieces, request=request)[0])
    assert found


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_a_stream_decoded_without_events_gives_the_same_response(wire: str, recordings: Path) -> None:
    for row in thoroughness.sampled(streams(recordings, wire), plain=100):
        decoder = StreamDecoder(row.wire, provider=row.provider, status=row.status, events=False)
        shown = [decoder.feed(piece) for piece in random_cuts(row, row.data)]
        same(row, "without events", decode(row), decoder.finish())
        assert not any(shown)


@pytest.mark.parametrize("wire", fast_paths.WIRES)
def test_nearly_all_recordings_of_each_provider_take_the_fast_path(wire: str, recordings: Path) -> None:
    # Few exchanges of these wires are recorded.
    least = {"google.interactions": 1, "ollama.chat": 5}.get(wire, 20)
    shares = [share for share in fast_paths.shares(recordings, wire) if share.recordings >= least]
    assert {share.kind for share in shares} == {"bodies", "events"}
    assert [share for share in shares if share.percent < 95] == []
