"""The options of a caller are read in every sensible form, and refused by name in any other."""

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


def test_tools_are_declared_by_their_definitions_or_their_names() -> None:
    named = {"name": "lookup", "input_schema": {}}
    for request in ([LOOKUP], (LOOKUP,), ["lookup"], {"lookup"}, ["other", LOOKUP], [named], iter([LOOKUP])):
        assert not undeclared("lookup", request)
    assert undeclared("search", [LOOKUP])


@pytest.mark.parametrize("request_", [5, 1.5, object(), [5], ["lookup", None], b"5"])
def test_another_value_as_a_request_is_a_typed_error(request_: Any) -> None:
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
def test_a_hosted_tool_of_anthropic_is_not_declared_as_one_of_the_caller(tool: Any, declared: bool) -> None:
    assert undeclared("web_search", {"tools": [tool]}) is not declared


@pytest.mark.parametrize("wire", [[], {}, 5, ""])
def test_another_value_as_a_wire_is_a_typed_error(wire: Any) -> None:
    for use in (lambda: normalize(b"{}", wire), lambda: normalize({}, wire), lambda: StreamDecoder(wire)):
        with pytest.raises(UnknownWire):
            use()


@pytest.mark.parametrize("wire", [*BYTE_WIRES, None])
@pytest.mark.parametrize(("body", "what"), [(b"", "the body is empty"), (b" \n", "the body contains only white space")])
def test_an_empty_body_is_an_error_that_names_the_reason(wire: str | None, body: bytes, what: str) -> None:
    with pytest.raises(MalformedBody, match=what):
        normalize(body, wire)
