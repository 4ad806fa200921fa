"""What the caller says next follows from the script and from what the model said, whatever the model is."""

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


def script(*rounds: Round, **more: Any) -> Script:
    first = msgspec.structs.replace(rounds[0], ask="Look twice.")
    return Script("test", "A test", [first, *rounds[1:]], TOOLS, **more)


def said(*calls: tuple[str, str, str], text: str | None = None, stop: str | None = None) -> Response:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": stop or ("tool_calls" if calls else "stop")}
    return normalize(
        json.dumps({"id": "c", "object": "chat.completion", "choices": [choice]}), "openai.chat", provider="openai"
    )


def results(body: Any) -> dict[str, str]:
    return {m["tool_call_id"]: m["content"] for m in body["messages"] if m["role"] == "tool"}


def test_each_call_gets_the_result_of_its_tool_in_order() -> None:
    first = Round(
        [
            ScriptedCall("look", {}, result="one"),
            ScriptedCall("note", {}, result={"kept": True}),
            ScriptedCall("look", {}, result="two"),
        ]
    )
    talk = conversation(script(first, Round([Say("Done.")])), CHAT, stream=False)
    next(talk)
    body = talk.send(said(("b", "look", "{}"), ("a", "look", "{}"), ("c", "note", "{}")))
    assert results(body) == {"b": "one", "a": "two", "c": '{"kept":true}'}


def test_a_call_that_no_script_foresaw_gets_a_result_too() -> None:
    talk = conversation(
        script(Round([ScriptedCall("look", {}, result="one")]), Round([Say("Done.")])), CHAT, stream=False
    )
    next(talk)
    body = talk.send(said(("a", "look", "{}"), ("b", "look", "{}"), ("c", "other", "{}")))
    assert results(body) == {"a": "one", "b": '{"ok":true}', "c": '{"ok":true}'}


def test_a_tool_that_fails_and_one_that_returns_nothing_are_told_so() -> None:
    first = Round([ScriptedCall("look", {}, result="it is dark", failed=True), ScriptedCall("note", {})])
    at = SURFACES["anthropic.messages"]
    talk = conversation(script(first, Round([Say("Done.")])), at, stream=False)
    next(talk)
    calls = [{"type": "tool_use", "id": f"toolu_{n}", "name": n, "input": {}} for n in ("look", "note")]
    answer = {"id": "m", "type": "message", "role": "assistant", "content": calls, "stop_reason": "tool_use"}
    body = talk.send(normalize(json.dumps(answer), at.wire, provider=at.provider))
    assert body["messages"][-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_look", "content": "it is dark", "is_error": True},
        {"type": "tool_result", "tool_use_id": "toolu_note"},
    ]


def test_a_call_that_was_cut_is_answered_as_not_executed() -> None:
    talk = conversation(
        script(Round([ScriptedCall("look", {}, result="one")], ending="length"), Round([Say("Done.")])),
        CHAT,
        stream=False,
    )
    next(talk)
    body = talk.send(said(("a", "look", '{"x":'), stop="length"))
    assert results(body) == {"a": "[tool_error] This call was not executed: its arguments were truncated."}


def over(talk: Any, response: Response) -> bool:
    try:
        talk.send(response)
    except StopIteration:
        return True
    return False


def test_the_conversation_ends_with_the_script() -> None:
    talk = conversation(script(Round([ScriptedCall("look", {})])), CHAT, stream=False)
    next(talk)
    assert over(talk, said(("a", "look", "{}")))


def test_the_conversation_ends_where_the_model_does() -> None:
    talk = conversation(script(Round([ScriptedCall("look", {})]), Round([Say("Done.")])), CHAT, stream=False)
    next(talk)
    assert over(talk, said(text="I would rather not."))


def test_the_user_speaks_again_where_the_script_says_so() -> None:
    talk = conversation(script(Round([Say("Hello.")]), Round([Say("Bye.")], ask="And now?")), CHAT, stream=False)
    next(talk)
    body = talk.send(said(text="Hello."))
    assert [(m["role"], m["content"]) for m in body["messages"]] == [
        ("user", "Look twice."),
        ("assistant", "Hello."),
        ("user", "And now?"),
    ]


def test_an_error_ends_the_conversation() -> None:
    talk = conversation(script(Round([Say("Hello.")]), Round([Say("Bye.")], ask="And now?")), CHAT, stream=False)
    next(talk)
    assert over(talk, normalize('{"error": {"message": "no", "type": "server_error"}}', "openai.chat", status=500))


def test_nothing_of_an_answer_that_was_cut_is_gone_on_with() -> None:
    talk = conversation(script(Round([ScriptedCall("look", {})]), Round([Say("Done.")])), CHAT, stream=False)
    next(talk)
    assert over(talk, msgspec.structs.replace(said(("a", "look", "{}")), complete=False))


def test_what_a_surface_cannot_say_is_an_error_before_anything_is_sent() -> None:
    custom = [OfferedTool("free", "Takes text.", kind="custom")]
    odd = msgspec.structs.replace(script(Round([Say("Hello.")])), tools=custom)
    with pytest.raises(RecordingFailed, match="the request cannot represent the whole script"):
        next(conversation(odd, SURFACES["anthropic.messages"], stream=False))


def test_waiting_hints_are_never_sent() -> None:
    hinted = msgspec.structs.replace(
        script(Round([Say("Hi.")])), tools=[OfferedTool("look", "Looks.", waiting_hint="Looking")]
    )
    for at in SURFACES.values():
        assert "Looking" not in str(next(conversation(hinted, at, stream=False)))


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("at", SURFACES.values(), ids=list(SURFACES))
def test_every_opening_is_one_that_the_provider_takes(at: Any, stream: bool) -> None:
    for one in scripts().values():
        if at.plays(one):
            encoded = write_request(opening(one, at, stream=stream), at.wire, provider=at.provider)
            assert check_request(encoded.body, at.wire, provider=at.provider) == []
            assert encoded.losses == []


def test_another_model_is_asked_where_somebody_says_so() -> None:
    assert next(conversation(script(Round([Say("Hi.")])), CHAT, stream=False, model="gpt-x"))["model"] == "gpt-x"
    assert next(conversation(script(Round([Say("Hi.")])), CHAT, stream=False))["model"] == CHAT.model


def test_reasoning_is_asked_for_where_the_script_has_some_so_that_it_goes_back() -> None:
    thinking = script(Round([Think("Hm."), Say("Hi.")]))
    body = next(conversation(thinking, SURFACES["openai.responses"], stream=True))
    assert body["include"] == ["reasoning.encrypted_content"]
    assert (body["store"], body["stream"]) == (False, True)
    body = next(conversation(thinking, SURFACES["anthropic.messages"], stream=False))
    assert body["thinking"]["type"] == "enabled"
    assert body["max_tokens"] > body["thinking"]["budget_tokens"]
    assert next(conversation(thinking, SURFACES["xai.grpc"], stream=False)).use_encrypted_content is True
