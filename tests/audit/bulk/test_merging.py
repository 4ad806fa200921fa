"""Item 31: an audit does not depend on how its input was cut."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tests.support.thoroughness import examples
from tests.support.traffic import chat_body, chat_stream, row, write_rows
from toolparity.audit import figures, summary
from toolparity.audit.bulk import parallel
from toolparity.audit.report import as_json
from toolparity.audit.summary import Audit
from toolparity.cassettes.sources import Exchange
from toolparity.cli import main


def run(*args: Any) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


def body(model: str, *names: str, **more: Any) -> bytes:
    return json.dumps({**json.loads(chat_body(*names, **more)), "model": model}).encode()


BODIES = st.one_of(
    st.builds(body, st.text("abc", min_size=1, max_size=3), st.just("f"), st.sampled_from(["f", "g"])),
    st.builds(body, st.just("others"), st.just("f"), arguments=st.sampled_from(["{}", "[1]", '{"a": '])),
    st.just(chat_stream("f", "g", end=False).encode()),
    st.just(b"no body"),
)
EXCHANGES = st.lists(
    st.tuples(BODIES, st.sampled_from(["openai.chat", "openai.chat", "one", "two", "three", "four", None])),
    min_size=1,
    max_size=40,
)


def counted(exchanges: list[Exchange]) -> Audit:
    made = Audit()
    for exchange in exchanges:
        made.count(exchange, policy="first", limit=None)
    return made


@examples(150)
@given(EXCHANGES, st.data())
def test_any_partition_of_exchanges_in_any_order_gives_the_same_audit(
    made: list[tuple[bytes, str | None]], data: st.DataObject
) -> None:
    exchanges = [
        Exchange(source=f"r{n % 2}#{n}", line=n, wire=wire, stream=body[:1] == b"d", body=body)
        for n, (body, wire) in enumerate(made)
    ]
    with pytest.MonkeyPatch.context() as patch:  # few are kept, so that all limits are reached
        for name, most in (("_NAMES_KEPT", 2), ("_MODELS_KEPT", 3), ("_WORST_KEPT", 4), ("_EXAMPLES_KEPT", 2)):
            patch.setattr(figures if name == "_MODELS_KEPT" else summary, name, most)
        whole = counted(exchanges)
        order = data.draw(st.permutations(exchanges))
        cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=6)))
        parts = [counted(order[a:b]) for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]
        merged = Audit()
        while parts:
            part = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
            if parts and data.draw(st.booleans()):  # or two parts first: adding is associative
                parts[0].merge(part)
            else:
                merged.merge(part)
    assert merged == whole
    assert as_json(merged, "first", None) == as_json(whole, "first", None)


def test_the_batch_size_does_not_change_the_counts_of_hundreds_of_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = Random(31)
    rows = [row(body(f"model-{chance.randrange(300)}", "f").decode()) for _ in range(1_000)]
    path = write_rows(tmp_path / "r.jsonl", *rows)
    found = []
    for size in (1_000, 20_000, 1 << 30):
        monkeypatch.setattr(parallel, "PART_BYTES", size)
        found.append(as_json(parallel.audit_paths([str(path)], jobs=1), "all", None))
    assert found[0] == found[1] == found[2]
    models = found[0]["wires"]["openai.chat"]["models"]
    assert len(models) == 101
    assert sum(model["exchanges"] for model in models.values()) == 1_000
    assert models["model-7"]["exchanges"] == sum(json.loads(one["body"])["model"] == "model-7" for one in rows)


def test_the_order_of_the_paths_does_not_matter(tmp_path: Path) -> None:
    paths = [write_rows(tmp_path / f"{n}.jsonl", *[row(chat_body("f", arguments="[1]"))] * 9) for n in range(3)]
    assert run("audit", "--json", *paths).stdout == run("audit", "--json", *reversed(paths)).stdout
