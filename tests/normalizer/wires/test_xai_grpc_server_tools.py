"""A custom call by a name that xAI documents is xAI's own where the request is not known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.decoding import codes, decoded, ran
from tests.support.events import CREATED, added, done, function_call, responses_body, sse, terminal
from toolparity import Response, ServerToolCall, ToolCall, normalize
from toolparity.normalizer.conversation import Assistant
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.xai_tools import TOOLS_OF_XAI

WIRE = "openai.responses"
#: docs.x.ai/developers/tools/tool-usage-details: the names by the tool that they belong to.
NAMES = {name: tool for name, tool in TOOLS_OF_XAI.items() if name}


def item(name: str) -> dict[str, Any]:
    members = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "xs_1", "name": name, "input": '{"query":"a"}'}
    return {**members, "status": "completed"}


def both(*items: dict[str, Any], output: bool = True, **options: Any) -> list[Response]:
    """The items as a plain body and as a stream."""
    events = [event for n, one in enumerate(items) for event in (added(n, {**one, "input": ""}), done(n, one))]
    streamed = decoded(WIRE, sse(CREATED, *events, terminal(list(items) if output else [])), **options)
    return [normalize(responses_body(*items), WIRE, **options), streamed]


def sent_back(response: Response) -> list[Any]:
    """The items of the response in the next request."""
    request = read_request({"model": "grok-4", "input": "Go."}, WIRE, provider="xai")
    request.messages.append(Assistant(response))
    encoded = write_request(request, WIRE, provider="xai")
    assert encoded.losses == []
    items: list[Any] = encoded.body["input"][1:]
    return items


@pytest.mark.parametrize("name", NAMES)
def test_a_documented_name_is_a_server_call_unless_the_request_declares_a_tool_of_that_name(name: str) -> None:
    for response in (*both(item(name), provider="xai"), *both(item(name), output=False, provider="xai")):
        (call,) = response.choices[0].blocks
        assert isinstance(call, ServerToolCall)
        assert (call.id, call.tool, call.name, call.arguments_text) == ("ctc_1", NAMES[name], name, '{"query":"a"}')
        assert response.choices[0].stop.reason == "end_turn"
        assert set(codes(response)) <= {"output-empty"}
        assert sent_back(response) == [item(name)]
    tools: dict[str, Any] = {"tools": [{"type": "custom", "name": name}]}
    declared = both(item(name), provider="xai", request=tools)
    echoed = normalize(responses_body(item(name), **tools), WIRE, provider="xai")
    others = [response for provider in ("openai", None) for response in both(item(name), provider=provider)]
    for response in (*declared, echoed, *others):
        assert ran(response) == ["xs_1"]
    for response in both({**function_call("c1", name, "{}"), "input": None}, provider="xai"):
        assert [type(block) for block in response.choices[0].blocks] == [ToolCall]


def test_a_call_of_a_declared_function_is_hosted_only_if_the_request_declares_hosted_tools() -> None:
    tools: list[dict[str, Any]] = [{"type": "function", "name": "view_image"}]
    for more, expected in (([], ["xs_1"]), ([{"type": "x_search"}], [])):
        for response in both(item("view_image"), provider="xai", request={"tools": tools + more}):
            assert ran(response) == expected


def test_a_custom_call_of_grok_is_a_server_call_at_any_provider() -> None:
    mine: dict[str, Any] = {"tools": [{"type": "custom", "name": "mine"}]}
    served = [("xai", "m"), ("other", "grok-4"), ("openrouter", "x-ai/grok-4"), (None, "Grok-4"), ("xai", None)]
    for provider, model in served:
        body = responses_body(item("open_page"), {**item("mine"), "call_id": "x2"}, model=model, **mine)
        response = normalize(body, WIRE, provider=provider)
        assert [type(block) for block in response.choices[0].blocks] == [ServerToolCall, ToolCall]
        assert ran(response) == ["x2"]


@pytest.mark.parametrize("name", ["edit", "x_my_own", "", "keyword_search"])
def test_a_call_with_an_undocumented_name_stays_unresolved(name: str) -> None:
    for response in both(item(name), provider="xai"):
        assert [(call.kind, call.status) for call in response.calls] == [("unresolved", "invalid")]
        assert ran(response) == []
        assert name == "" or sent_back(response) == [item(name)]


def test_a_call_that_was_answered_elsewhere_is_sent_back_with_its_output() -> None:
    items = [
        function_call("c1", "f", "{}"),
        {"type": "function_call_output", "id": "o", "call_id": "c1", "output": "x"},
    ]
    assert sent_back(normalize(responses_body(*items), WIRE, provider="xai")) == items
