"""The corpus of the benchmark of bulk work, and how the processes of bulk work collect garbage."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from toolparity.cassettes.sources import Exchange, read
from toolparity.conformance.workers import rare_collections

EXAMPLES = Path(__file__).resolve().parents[1] / "cassettes" / "examples"


def test_each_compression_has_every_exchange_as_often_as_asked(tmp_path: Path) -> None:
    pytest.importorskip("psutil", reason="the benchmarks need psutil")
    from benchmarks import bulk

    made = bulk.corpus(EXAMPLES, tmp_path)
    paths = made.write(tmp_path, 3)
    assert {path.suffix for path in paths} == {".jsonl", ".gz", ".zst"}
    originals = [item for item in read(EXAMPLES) if isinstance(item, Exchange)]
    assert made.exchanges == len(originals) > 5
    assert made.size * 3 == paths[0].stat().st_size
    for path in paths:
        found = [item for item in read(path) if isinstance(item, Exchange)]
        assert [(item.wire, item.stream, item.body, item.frames) for item in found] == [
            (item.wire, item.stream, item.body, item.frames) for item in originals
        ] * 3


def test_garbage_is_collected_as_before_after_bulk_work() -> None:
    before = gc.get_threshold()
    with rare_collections():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before
