"""On xai.grpc, no call runs whose arguments were elsewhere, and xAI's own tools are not the client's."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.decoding import codes, decode_stream, ran
from tests.support.events import grpc_body, grpc_call, grpc_chunk
from tests.support.thoroughness import examples
from toolparity import Response, ServerToolCall, StreamDecoder, normalize, select
from toolparity.normalizer.events import BlockStart
from toolparity.normalizer.wires.xai_tools import TOOLS_OF_XAI

F, G = '{"a":1}', '{"b":[2,{}]}'


def read(*calls: Any, **options: Any) -> Response:
    """The calls, each in a message, as a stream."""
    return decode_stream("xai.grpc", [*map(grpc_chunk, calls), grpc_chunk(finish=4)], **options)


def head(id: str, name: str, text: str = "") -> Any:
    return grpc_call(id, name, text)


def rest(text: str) -> Any:
    return grpc_call("", "", text, kind=0)


def states(response: Response) -> list[tuple[str, str]]:
    return [(call.name, call.status) for call in response.calls]


@pytest.mark.parametrize("empty", ["", "{}", "null"])
def test_calls_that_need_no_arguments_run(empty: str) -> None:
    for response in (
        read(head("a", "f", empty), head("b", "g", empty)),
        read(head("a", "f", empty), head("b", "g", F)),
        read(head("b", "g"), rest(F[:3]), rest(F[3:]), head("a", "f", empty)),
        normalize(grpc_body(head("a", "f", empty), head("b", "g", F)), "xai.grpc"),
    ):
        assert len(select(response).kept) == 2
        assert "arguments-misplaced" not in codes(response)
    # a tool that is declared without parameters
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {}}}, {"name": "g", "parameters": {}}]
    response = read(head("a", "f"), head("b", "g"), rest(F), request=tools)
    assert states(response) == [("f", "complete"), ("g", "complete")]


# Calls without a type, by the names of xAI's own tools


def test_a_call_without_a_type_and_with_a_documented_name_is_a_server_call() -> None:
    for name, provider in product(filter(None, TOOLS_OF_XAI), (None, "xai")):
        call = grpc_call("s", name, F, kind=0)
        for response in (read(call, provider=provider), normalize(grpc_body(call), "xai.grpc", provider=provider)):
            (block,) = response.choices[0].blocks
            assert isinstance(block, ServerToolCall)
            assert (block.tool, block.name, block.arguments_text) == (TOOLS_OF_XAI[name], name, F)
            assert "unknown-block" not in codes(response)
        shown = StreamDecoder("xai.grpc").feed(grpc_chunk(call))
        assert [event.block for event in shown if isinstance(event, BlockStart)] == ["server_tool_call"]


def test_a_type_or_a_declaration_overrides_the_documented_name() -> None:
    name = "x_keyword_search"
    assert ran(read(grpc_call("a", name, F, kind=1))) == ["a"]
    assert ran(read(grpc_call("a", name, F, kind=1), grpc_call("a", name, F, kind=0))) == ["a"]
    assert ran(read(grpc_call("a", name, F, kind=0), request=[name])) == ["a"]
    other = read(grpc_call("a", name, F, kind=0), request=["f"])
    assert [call.kind for call in other.calls] == ["unresolved"]
    assert ran(read(grpc_call("a", "f", F, kind=0))) == ["a"]


# Any delivery


@examples(300, derandomize=True, database=None)
@given(st.data())
def test_every_call_that_runs_has_its_own_arguments(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 4))
    calls = [(f"id{n}", f"t{n}", json.dumps({"n": n, "v": "x" * n})) for n in range(count)]
    kinds = st.sampled_from(["whole", "with id", "before", "after", "on another"])
    ways = [data.draw(kinds) for _ in calls]
    full = [id for (id, _, _), way in zip(calls, ways, strict=True) if way == "whole"]
    heads: list[Any] = []
    early: list[Any] = []
    late: list[Any] = []
    for (id, name, text), way in zip(calls, ways, strict=True):
        heads.append(head(id, name, text if way == "whole" else ""))
        if way == "with id":
            late.append(grpc_call(id, "", text, kind=0))
        elif way == "on another" and full:
            late.append(grpc_call(data.draw(st.sampled_from(full)), "", text, kind=0))
        elif way != "whole":
            (early if way == "before" else late).append(rest(text))
    response = read(*early, *heads, *data.draw(st.permutations(late)))
    own = {id: json.loads(text) for id, _, text in calls}
    kept = {ref.id for ref in select(response).kept}
    assert [call for call in response.calls if call.id in kept and call.arguments != own[call.id]] == []
    if set(ways) <= {"whole", "with id"}:
        assert len(kept) == count
