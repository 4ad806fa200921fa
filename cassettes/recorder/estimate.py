"""Estimates of the requests and tokens of a recording, from the script alone. Nothing is sent."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from toolparity.normalizer import json_codec
from toolparity.normalizer.requests import write_request

from ..scripts import Round, Script, ScriptedCall
from ..surfaces import Surface
from .script_driver import opening

#: The usual rule of thumb for English text and JSON. Tokenizers differ by a factor of about two.
CHARACTERS_PER_TOKEN = 4


class Estimate(NamedTuple):
    """Requests and tokens. Each request repeats the history, so the input grows from round to round."""

    requests: int
    input_tokens: int
    output_tokens: int


def estimate(script: Script, at: Surface, *, stream: bool, model: str | None = None) -> Estimate:
    """Estimate a conversation that follows the script. A model may answer at greater length."""
    encoded = write_request(opening(script, at, stream=stream, model=model), at.wire, provider=at.provider)
    body = encoded.body
    size = len(json_codec.text(body)) if isinstance(body, dict) else len(str(body))
    sent = said = 0
    for round in script.rounds:
        if round is not script.rounds[0] and round.ask is not None:
            size += len(round.ask)
        sent += size
        answer = _said(round)
        said += answer
        size += answer + sum(len(json_codec.text(call.result)) for call in round.calls)
    return Estimate(len(script.rounds), sent // CHARACTERS_PER_TOKEN, said // CHARACTERS_PER_TOKEN)


def _said(round: Round) -> int:
    """Return the characters of the parts of a round, without the results that only the caller has."""
    parts = [
        msgspec.structs.replace(part, result=None) if isinstance(part, ScriptedCall) else part for part in round.parts
    ]
    return len(msgspec.json.encode(parts))
