"""The next request of a recording follows from the script and from the model's answer, whatever the answer is."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from toolparity import normalize
from toolparity.cassettes.errors import RecordingFailed
from toolparity.cassettes.recorder.script_driver import conversation, opening
from toolparity.cassettes.scripts import OfferedTool, Round, Say, Script, ScriptedCall, Think, scripts
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.model import Response
from toolparity.normalizer.requests import check_request, write_request

CHAT = SURFACES["openai.chat"]
TOOLS = [OfferedTool("look", "Looks."), OfferedTool("note", "Notes.")]
LOOK = ScriptedCall("look", {}, result="one")
DONE = Round([Say("Done.")])
ASKED_AGAIN = (Round([Say("Hello.")]), Round([Say("Bye.")], ask="And now?"))


def script(*rounds: Round, tools: list[OfferedTool] = TOOLS) -> Script:
    first = msgspec.structs.replace(rounds[0], ask="Look twice.")
    return Script("test", "A test", [first, *rounds[1:]], tools)


def answered(*calls: tuple[str, str], text: str | None = None, stop: str | None = None) -> Response:
    """An answer with calls, each an id and a tool."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        arguments = '{"x":' if stop else "{}"
        functions = [(id, {"name": name, "arguments": arguments}) for id, name in calls]
        message["tool_calls"] = [{"id": id, "type": "function", "function": function} for id, function in functions]
    choice = {"index": 0, "message": message, "finish_reason": stop or ("tool_calls" if calls else "stop")}
    body = {"id": "c", "object": "chat.completion", "choices": [choice]}
    return normalize(json.dumps(body), "openai.chat", provider="openai")


def next_body(script: Script, response: Response, at: Any = CHAT) -> Any:
    """The request after the first answer; None if the conversation is over."""
    requests = conversation(script, at, stream=False)
    next(requests)
    try:
        return requests.send(response)
    except StopIteration:
        return None


THREE: list[Any] = [LOOK, ScriptedCall("note", {}, result={"kept": True}), ScriptedCall("look", {}, result="two")]
CUT = "[tool_error] This call was not executed: its arguments were truncated."
OK = '{"ok":true}'
#: The first round of the script, the calls of the answer, why it stopped, and the results that the request has.
ANSWERS: dict[str, tuple[Round, list[tuple[str, str]], str | None, dict[str, str]]] = {
    "the results of its tool in order": (
        Round(THREE),
        [("b", "look"), ("a", "look"), ("c", "note")],
        None,
        {"b": "one", "a": "two", "c": '{"kept":true}'},
    ),
    "calls that are not in the script": (
        Round([LOOK]),
        [("a", "look"), ("b", "look"), ("c", "other")],
        None,
        {"a": "one", "b": OK, "c": OK},
    ),
    "a cut call": (Round([LOOK], ending="length"), [("a", "look")], "length", {"a": CUT}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_each_call_gets_a_result(name: str) -> None:
    first, calls, stop, results = ANSWERS[name]
    body = next_body(script(first, DONE), answered(*calls, stop=stop))
    assert {m["tool_call_id"]: m["content"] for m in body["messages"] if m["role"] == "tool"} == results


def test_a_tool_that_fails_and_one_that_returns_nothing_are_marked() -> None:
    first = Round([ScriptedCall("look", {}, result="it is dark", failed=True), ScriptedCall("note", {})])
    at = SURFACES["anthropic.messages"]
    calls: list[Any] = [{"type": "tool_use", "id": f"toolu_{n}", "name": n, "input": {}} for n in ("look", "note")]
    answer = {"id": "m", "type": "message", "role": "assistant", "content": calls, "stop_reason": "tool_use"}
    body = next_body(script(first, DONE), normalize(json.dumps(answer), at.wire, provider=at.provider), at)
    assert body["messages"][-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_look", "content": "it is dark", "is_error": True},
        {"type": "tool_result", "tool_use_id": "toolu_note"},
    ]


_ERROR = normalize('{"error": {"message": "no", "type": "server_error"}}', "openai.chat", status=500)


@pytest.mark.parametrize(
    ("rounds", "response"),
    [
        ([Round([LOOK])], answered(("a", "look"))),
        ([Round([LOOK]), DONE], answered(text="I would rather not.")),
        (ASKED_AGAIN, _ERROR),
        ([Round([LOOK]), DONE], msgspec.structs.replace(answered(("a", "look")), complete=False)),
    ],
    ids=["the script ends", "the model ends", "an error", "an incomplete answer"],
)
def test_the_conversation_ends_with_the_script_the_model_or_an_error(rounds: Any, response: Response) -> None:
    assert next_body(script(*rounds), response) is None
    messages = next_body(script(*ASKED_AGAIN), answered(text="Hello."))["messages"]
    asked = [("user", "Look twice."), ("assistant", "Hello."), ("user", "And now?")]
    assert [(m["role"], m["content"]) for m in messages] == asked


def test_a_script_that_a_surface_cannot_represent_is_an_error_and_waiting_hints_are_never_sent() -> None:
    custom = script(DONE, tools=[OfferedTool("free", "Takes text.", kind="custom")])
    with pytest.raises(RecordingFailed, match="the request cannot represent the whole script"):
        next(conversation(custom, SURFACES["anthropic.messages"], stream=False))
    hinted = script(DONE, tools=[OfferedTool("look", "Looks.", waiting_hint="Looking")])
    for at in SURFACES.values():
        assert "Looking" not in str(next(conversation(hinted, at, stream=False)))


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("at", SURFACES.values(), ids=list(SURFACES))
def test_the_provider_accepts_the_opening_of_every_script(at: Any, stream: bool) -> None:
    for one in scripts().values():
        if at.plays(one):
            encoded = write_request(opening(one, at, stream=stream), at.wire, provider=at.provider)
            assert check_request(encoded.body, at.wire, provider=at.provider) == []
            assert encoded.losses == []


def test_the_opening_asks_the_chosen_model_and_for_the_reasoning_of_the_script() -> None:
    for model, expected in (("gpt-x", "gpt-x"), (None, CHAT.model)):
        assert next(conversation(script(DONE), CHAT, stream=False, model=model))["model"] == expected
    thinking = script(Round([Think("Hm."), Say("Hi.")]))
    body = next(conversation(thinking, SURFACES["openai.responses"], stream=True))
    assert (body["include"], body["store"], body["stream"]) == (["reasoning.encrypted_content"], False, True)
    body = next(conversation(thinking, SURFACES["anthropic.messages"], stream=False))
    assert body["thinking"]["type"] == "enabled"
    assert body["max_tokens"] > body["thinking"]["budget_tokens"]
    assert next(conversation(thinking, SURFACES["xai.grpc"], stream=False)).use_encrypted_content is True
