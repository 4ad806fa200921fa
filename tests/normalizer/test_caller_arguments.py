"""What a caller reports beside the body is read in every sensible form, and refused by name in any other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.events import chat_call
from tests.support.wires import BYTE_WIRES
from toolparity import StreamDecoder, normalize
from toolparity.normalizer.errors import MalformedBody, UnknownWire

LOOKUP = {"type": "function", "function": {"name": "lookup"}}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def undeclared(name: str, request: Any) -> bool:
    body = {"choices": [{"index": 0, "message": {"tool_calls": [chat_call("a", name, "{}")]}}]}
    return "unknown-tool" in [finding.code for finding in normalize(body, "openai.chat", request=request).findings]


@pytest.mark.parametrize(
    "request_",
    [
        [LOOKUP],
        (LOOKUP,),
        ["lookup"],
        {"lookup"},
        ["other", LOOKUP],
        [{"name": "lookup", "input_schema": {}}],
        iter([LOOKUP]),
    ],
)
def test_tools_are_declared_by_their_definitions_or_their_names(request_: Any) -> None:
    assert not undeclared("lookup", request_)


def test_a_list_of_definitions_declares_nothing_else() -> None:
    assert undeclared("search", [LOOKUP])


@pytest.mark.parametrize("request_", [5, 1.5, object(), [5], ["lookup", None], b"5"])
def test_what_is_no_request_is_a_typed_error(request_: Any) -> None:
    with pytest.raises(MalformedBody, match="request has an unsupported type"):
        undeclared("lookup", request_)


@pytest.mark.parametrize(
    ("tool", "declared"),
    [
        (SEARCH, False),
        ({"type": "code_execution_20250825", "name": "web_search"}, False),
        ({"type": "bash_20250124", "name": "web_search"}, True),
        ({"type": "custom", "name": "web_search"}, True),
        ({"name": "web_search", "input_schema": {}}, True),
    ],
)
def test_a_hosted_tool_of_anthropic_is_none_of_the_callers(tool: Any, declared: bool) -> None:
    assert undeclared("web_search", {"tools": [tool]}) is not declared


@pytest.mark.parametrize("wire", [[], {}, 5, ""])
def test_what_is_no_name_of_a_wire_is_a_typed_error(wire: Any) -> None:
    with pytest.raises(UnknownWire):
        normalize(b"{}", wire)
    with pytest.raises(UnknownWire):
        normalize({}, wire)
    with pytest.raises(UnknownWire):
        StreamDecoder(wire)


@pytest.mark.parametrize("wire", [*BYTE_WIRES, None])
@pytest.mark.parametrize(("body", "what"), [(b"", "the body is empty"), (b" \n", "the body contains only white space")])
def test_an_empty_body_says_so(wire: str | None, body: bytes, what: str) -> None:
    with pytest.raises(MalformedBody, match=what):
        normalize(body, wire)
