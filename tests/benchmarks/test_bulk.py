"""The benchmarks of bulk work and of the engines: their corpora, and how bulk work collects garbage."""

from __future__ import annotations

import gc
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from docs.generate import speed
from tests.audit.bulk.corpus import EXAMPLES
from tests.audit.conversations.test_audit import conversation
from tests.support.optional import package
from tests.support.traffic import write_rows
from toolparity.audit.bulk.parallel import audit_paths
from toolparity.cassettes.sources import Exchange, read
from toolparity.cassettes.workers import rare_collections

pytestmark = pytest.mark.page("benchmarks", "docs/generate/speed.py", "docs/pages/benchmarks.md")
bulk: Any = package("benchmarks.bulk", extra="dev")
bulk_rows: Any = package("benchmarks.bulk_rows", extra="dev")
bulk_steps: Any = package("benchmarks.bulk_steps", extra="dev")
engines: Any = package("benchmarks.engines", extra="dev")


@pytest.fixture
def made(tmp_path: Path) -> Any:
    """The corpus of the examples."""
    return bulk.corpus(EXAMPLES, tmp_path)


def test_each_compression_has_every_exchange_as_often_as_asked(made: Any, tmp_path: Path) -> None:
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


def test_every_step_processes_the_whole_corpus_also_in_several_processes(made: Any) -> None:
    for work, prepare in bulk_steps.STEPS.items():
        prepare(made.block)()
        assert made.block.read_bytes().count(b"\n") == made.exchanges, work
    row = bulk_steps.in_memory(made.block, bulk_steps.PLAIN, 2, 0.0)
    assert (row.processes, row.rate > 0, row.cpu > 0) == (2, True, True)


def test_rows_are_copied_without_changes(made: Any, tmp_path: Path) -> None:
    target = tmp_path / "copied"
    for path in made.write(tmp_path, 2):
        out = BytesIO()
        bulk_rows.copy(str(path), out)
        target.with_suffix(".jsonl").write_bytes(out.getvalue())
        copied, originals = (
            [(item.wire, item.body, item.frames) for item in read(file) if isinstance(item, Exchange)]
            for file in (target.with_suffix(".jsonl"), path)
        )
        assert copied == originals
        assert len(copied) == 2 * made.exchanges


@pytest.mark.parametrize("command", ["rows", "normalize"])
def test_a_run_has_its_rate_and_its_memory(made: Any, tmp_path: Path, command: str) -> None:
    base = {name: bulk_steps.InMemory(name, 1, 1000.0, 1000.0) for name in (bulk_steps.PLAIN, command)}
    found = bulk.run(command, made.write(tmp_path, 1)[1], 1, 1.0, made.exchanges, base)
    assert (found.command, found.compression, found.processes) == (command, "gz", 1)
    assert found.rate == pytest.approx(made.exchanges / found.seconds)
    assert found.goal == pytest.approx(found.rate / 1000)
    assert found.rss


def test_the_page_computes_the_costs_of_an_exchange_from_the_steps() -> None:
    cost = dict.fromkeys(bulk_steps.STEPS, 1.0)
    cost |= {bulk_steps.PLAIN: 40.0, "rows": 10.0, "decoding": 46.0, "reading": 20.0, "audit": 100.0, "records": 30.0}
    cost |= {"linking": 8.0, "merging audits": 4.0}
    rows = [{"work": work, "processes": 1, "cpu": value} for work, value in cost.items()]
    rows.append({"work": bulk_steps.PLAIN, "processes": 2, "cpu": 99.0})
    text = speed.bulk_parts(rows)
    assert "reading the line 20, searching the text for calls 6." in text
    assert "`audit` adds 24 for the selections" in text
    assert "80% of plain normalization" in text
    assert "so about 10 workers keep it busy" in text
    assert set(speed.BULK_STEPS) == set(bulk_steps.STEPS)


def test_each_repetition_of_the_corpus_has_other_conversations(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "source.jsonl", *conversation("a"), *conversation("b", kept=1))
    once = audit_paths([str(source)], jobs=1)
    target = tmp_path / "corpus.jsonl"
    length, exchanges = engines.corpus(source, target, 20_000)
    whole = audit_paths([str(target)], jobs=1)
    assert (length, exchanges) == (target.stat().st_size, whole.exchanges)
    times = exchanges // once.exchanges
    assert times > 1
    figures, expected = (found.conversations.wires["openai.chat"] for found in (whole, once))
    assert (figures.linked, figures.clean, figures.calls) == (
        expected.linked * times,
        expected.clean * times,
        expected.calls * times,
    )
