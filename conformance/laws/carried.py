"""The content of a response that a request does not carry, as the oracle of the response's wire reads it."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec

from ..oracle.responses import Irregular, read
from ..subjects import SubjectExchange

#: The types of the blocks that not every wire can carry, as reasons name them, and the member to look for.
_KINDS = {
    "reasoning": ("reasoning", "text"),
    "refusal": ("refusal", "text"),
    "server_tool_call": ("server calls", "arguments_text"),
}


def uncarried(exchange: SubjectExchange, body: Any) -> list[str]:
    """Return the kinds of content in the first choice of a response of which a request lacks at least one.

    An empty list, if the response is irregular: its reading is not unique.
    """
    try:
        choices = read(exchange).choices
    except Irregular:
        return []
    sent = json_codec.text(body)
    missing: dict[str, None] = {}
    for block in choices[0].blocks if choices else ():
        kind, member = _KINDS.get(block.members["type"], ("", ""))
        text = block.members.get(member)
        if isinstance(text, str) and text and json_codec.text(text)[1:-1] not in sent:
            missing[kind] = None
    return list(missing)
