"""The figures of an audit are the same for any partition of its exchanges, in any order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.thoroughness import examples
from tests.support.traffic import chat_body, chat_stream
from toolparity.audit import figures, summary
from toolparity.audit.report import as_json
from toolparity.audit.summary import Audit
from toolparity.cassettes.sources import Exchange


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
        for name, most in (("_NAMES_KEPT", 2), ("_MODELS_KEPT", 3), ("_WORST_KEPT", 4)):
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
