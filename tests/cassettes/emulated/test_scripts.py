"""The official SDKs read every script from the emulated providers as it is written, and its bytes do not change."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import pytest
from xai_sdk.proto import chat_pb2

from tests.cassettes.emulated.script_library import LIBRARY
from tests.cassettes.recorder.talking import talk, talk_async, without_connection
from tests.support.thoroughness import is_thorough
from toolparity.cassettes.emulated.encoding import encoded
from toolparity.cassettes.emulated.script_player import ConnectionReset, ProviderRefusal, StoredAnswers, play
from toolparity.cassettes.emulated.servers import Servers
from toolparity.cassettes.library import files
from toolparity.cassettes.recorder.sdks import Link
from toolparity.cassettes.scripts import Refuse, Round, Say, Script, ScriptedCall, scripts
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.model import Refusal, Response, ToolCall

PLAYED = [
    pytest.param(surface, script, id=f"{surface.name}-{script.id}")
    for surface in SURFACES.values()
    for script in (*scripts().values(), *LIBRARY.values())
    if surface.plays(script) and not any(round.fault for round in script.rounds)
]
#: The surfaces with a member or a stop reason for a refusal; on the others it is text like any other.
WITH_REFUSAL = ("openai.chat", "openai.responses", "anthropic.messages", "xai.chat", "xai.responses")


@pytest.mark.thorough(keep=5, per="{surface.name}")
@pytest.mark.parametrize(("surface", "script"), PLAYED)
def test_a_script_is_read_as_written_in_plain_and_streamed_answers(
    servers: Servers, surface: Surface, script: Script
) -> None:
    link = Link(servers.base(surface), "any", secure=False)
    plain, streamed = (
        [without_connection(one) for one in talk(script, surface, link, stream=stream)] for stream in (False, True)
    )
    for round, one, other in zip(script.rounds, plain, streamed, strict=True):
        check_answer(surface, round, one)
        check_answer(surface, round, other)
        assert (one.id, one.model) == (other.id, other.model)
        assert figures(one) == figures(other) or round.pieces == "characters"
    asynchronous = asyncio.run(talk_async(script, surface, link, stream=True))
    assert [without_connection(one) for one in asynchronous] == streamed


def check_answer(surface: Surface, round: Round, response: Response) -> None:
    (choice,) = response.choices
    assert (response.complete, response.error) == (True, None)
    for call, written in zip(choice.calls, round.calls, strict=True):
        assert (call.name, call.arguments, call.status) == (written.tool, *expected_arguments(call, round, written))
    refusal = "".join(part.text for part in round.parts if isinstance(part, Refuse))
    blocks = [block.text for block in choice.blocks if isinstance(block, Refusal)]
    assert choice.text + "".join(blocks) == "".join(p.text for p in round.parts if isinstance(p, (Say, Refuse)))
    endings = {"length": "max_tokens", "content_filter": "content_filter", "pause": "pause"}
    stop = "refusal" if refusal and surface.name in WITH_REFUSAL else "end_turn"
    assert choice.stop.reason == (endings[round.ending] if round.ending else "tool_calls" if round.calls else stop)


def expected_arguments(call: ToolCall, round: Round, written: ScriptedCall) -> tuple[Any, str]:
    if call.kind == "custom" or round.ending == "content_filter":  # whose last call may be cut
        assert call.arguments_text == written.text
        return call.arguments, call.status
    try:
        value = json.loads(written.text or "{}")
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value, "complete"
    return None, "truncated" if round.ending == "length" else "invalid"


def figures(response: Response) -> Any:
    usage = response.usage
    assert usage is not None
    cached = usage.cached_input_tokens or 0  # streams of Bedrock do not count it if it is 0
    return usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, cached


#: One script for each thing that an answer can hold: the plain run takes these, `--thorough` all that are shipped.
SHOWN = (
    *("parallel-three", "two-rounds", "whole-pieces", "emoji-in-arguments", "empty-arguments", "free-text-tool"),
    *("server-search", "searches-twice", "search-comes-to-nothing", "search-pauses-and-goes-on", "runs-code"),
    *("searches-posts", "refusal", "thinks-and-answers", "thinks-unseen", "cut-only-call", "breaks-off"),
)
MODEL = re.compile(r"/models?/([^/]+?)(?::[a-zA-Z]+$|/converse)")


@pytest.mark.parametrize("surface", SURFACES.values(), ids=list(SURFACES))
def test_an_answer_is_encoded_as_in_the_shipped_library(surface: Surface) -> None:
    """What the shipped cassettes hold was compared with real traffic."""
    shipped = [place for place in files.find() if (place.provider, place.wire) == (surface.provider, surface.wire)]
    compared = 0
    for place in shipped if is_thorough() else (place for place in shipped if place.name in SHOWN):
        loaded = files.load(place.path)
        for request, response in zip(loaded.requests, loaded.responses, strict=True):
            body, answer = json.loads(request.body), response["body"]["string"]
            if surface.by_messages:
                body = chat_pb2.GetCompletionsRequest.FromString(base64.b64decode(body["serialized"]))
                answer = b"".join(base64.b64decode(one["serialized"]) for one in json.loads(answer)["messages"])
            elif in_path := MODEL.search(unquote(request.path)):
                body = {surface.spec.model_member: in_path[1], **body}
            if answer and response["status"]["code"] == 200 and b'"request_id":"' not in answer:  # which is drawn
                assert encodings(surface, body, stream=place.stream) == answer, place.shown
                compared += 1
    assert compared >= 20


def encodings(surface: Surface, body: Any, *, stream: bool) -> bytes:
    """The bytes of an answer, up to the end or to the point at which its script breaks it off."""
    played = play(surface, body, StoredAnswers())
    data = b"" if stream else encoded(surface, surface.emulation.answer(played))
    with suppress(ConnectionReset, ProviderRefusal):
        for event in surface.emulation.events(played) if stream else ():
            data += encoded(surface, event)
    return data
