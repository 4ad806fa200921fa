"""A custom call by a name that xAI documents is xAI's own where the request is not known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.decoding import codes, decoded, feed, ran
from tests.support.events import CREATED, added, done, function_call, responses_body, sse, terminal
from toolparity import Response, ServerToolCall, ToolCall, normalize
from toolparity.normalizer.conversation import Assistant
from toolparity.normalizer.events import BlockStart
from toolparity.normalizer.requests import read_request, write_request

WIRE = "openai.responses"
#: docs.x.ai/developers/tools/tool-usage-details: the names by the tool that they belong to.
NAMES = {
    "web_search": "web_search",
    "web_search_with_snippets": "web_search",
    "browse_page": "web_search",
    "open_page": "web_search",
    "open_page_with_find": "web_search",
    "search_images": "search_images",
    "x_user_search": "x_search",
    "x_keyword_search": "x_search",
    "x_semantic_search": "x_search",
    "x_thread_fetch": "x_search",
    "code_execution": "code_execution",
    "view_x_video": "view_x_video",
    "view_image": "view_image",
    "collections_search": "collections_search",
}
EVERY_NAME = pytest.mark.parametrize("name", NAMES)


def item(name: str) -> dict[str, Any]:
    members = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "xs_1", "name": name, "input": '{"query":"a"}'}
    return {**members, "status": "completed"}


def both(*items: dict[str, Any], output: bool = True, **options: Any) -> list[Response]:
    """The items as a plain body and as a stream."""
    events = [event for n, one in enumerate(items) for event in (added(n, {**one, "input": ""}), done(n, one))]
    streamed = decoded(WIRE, sse(CREATED, *events, terminal(list(items) if output else [])), **options)
    return [normalize(responses_body(*items), WIRE, **options), streamed]


@EVERY_NAME
def test_a_documented_name_is_a_server_call_that_is_sent_back_unchanged(name: str) -> None:
    for response in (*both(item(name), provider="xai"), *both(item(name), output=False, provider="xai")):
        (call,) = response.choices[0].blocks
        assert isinstance(call, ServerToolCall)
        assert (call.id, call.tool, call.name, call.arguments_text) == ("ctc_1", NAMES[name], name, '{"query":"a"}')
        assert response.choices[0].stop.reason == "end_turn"
        assert set(codes(response)) <= {"output-empty"}
        request = read_request({"model": "grok-4", "input": "Go."}, WIRE, provider="xai")
        request.messages.append(Assistant(response))
        assert write_request(request, WIRE, provider="xai").body["input"][1:] == [item(name)]


@EVERY_NAME
def test_a_call_of_a_declared_tool_or_another_provider_is_a_client_call_whatever_its_name(name: str) -> None:
    tools = {"tools": [{"type": "custom", "name": name}]}
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


@pytest.mark.parametrize("name", ["edit", "x_my_own", "", "keyword_search"])
def test_a_call_with_an_undocumented_name_stays_unresolved(name: str) -> None:
    for response in both(item(name), provider="xai"):
        assert [(call.kind, call.status) for call in response.calls] == [("unresolved", "invalid")]
        assert ran(response) == []


def test_the_events_show_a_documented_name_as_a_server_call() -> None:
    _, events = feed(WIRE, [sse(CREATED, added(0, item("x_thread_fetch")))], provider="xai")
    assert [event.block for event in events if isinstance(event, BlockStart)] == ["server_tool_call"]
