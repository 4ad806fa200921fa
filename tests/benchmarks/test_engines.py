"""The benchmark of the engines: its corpus has as many conversations as it has repetitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.audit.bulk.corpus import EXAMPLES
from tests.audit.conversations.test_audit import conversation
from tests.support.optional import package
from tests.support.traffic import write_rows
from toolparity.audit.bulk.parallel import audit_paths

engines: Any = package("benchmarks.engines", extra="dev")


def test_each_repetition_of_the_corpus_has_other_conversations(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "source.jsonl", *conversation("a"), *conversation("b", kept=1))
    once = audit_paths([str(source)], jobs=1)
    target = tmp_path / "corpus.jsonl"
    length, exchanges = engines.corpus(source, target, 5_000)
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


def test_the_members_of_bodies_keep_their_names(tmp_path: Path) -> None:
    target = tmp_path / "corpus.jsonl"
    engines.corpus(EXAMPLES, target, 1)
    found = audit_paths([str(target)], jobs=1)
    assert found.exchanges == audit_paths([str(EXAMPLES)], jobs=1).audited
    assert {wire: f.calls for wire, f in found.wires.items()} == {
        wire: f.calls for wire, f in audit_paths([str(EXAMPLES)], jobs=1).wires.items()
    }
