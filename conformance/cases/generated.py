"""The traffic of generated scenarios, which the emulated provider plays from the script when it is needed."""

from __future__ import annotations

from typing import Any

from toolparity.cassettes.emulated.script_player import StoredAnswers, play
from toolparity.cassettes.scripts import Script
from toolparity.cassettes.surfaces import Surface
from toolparity.normalizer import json_codec


def generated_pieces(script: Script, surface: Surface, request: dict[str, Any], *, stream: bool) -> list[bytes]:
    """Return the response to the request that begins the script, in the pieces in which it arrives.

    ``request``: the body in JSON, in protobuf's JSON form on wires with messages. Raises ProviderRefusal if the
    provider would refuse it.
    """
    body = _message(request) if surface.by_messages else request
    played = play(surface, body, StoredAnswers(), {script.id: script})
    answers = list(surface.emulation.events(played)) if stream else [surface.emulation.answer(played)]
    return [_encoded(answer) for answer in answers]


def _encoded(answer: Any) -> bytes:
    if isinstance(answer, bytes):
        return answer
    if isinstance(answer, dict):
        return json_codec.encode(answer)
    return bytes(answer.SerializeToString(deterministic=True))


def _message(request: dict[str, Any]) -> Any:
    from google.protobuf.json_format import ParseDict
    from xai_sdk.proto import chat_pb2

    return ParseDict(request, chat_pb2.GetCompletionsRequest())
