"""The content of the generated traffic: the text and the calls, and how they are divided into pieces."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

EVENTS = 300


class Call(NamedTuple):
    """A call that every reader must find."""

    id: str
    name: str
    arguments: dict[str, Any]


_ARGUMENTS = [
    {"location": "Lisbon, Portugal", "unit": "celsius", "days": 3},
    {"location": "Reykjavik, Iceland", "unit": "celsius", "days": 5},
    {"location": "Nairobi, Kenya", "unit": "celsius", "days": 1},
]
_LONG_ARGUMENTS = [
    {
        "path": f"reports/{city.lower()}/weekly.md",
        "title": f"The week in {city}",
        "lines": [
            f"Temperatures in {city} stayed between {low} and {low + 9} degrees.",
            "Rain is expected on two of the seven days, mostly in the evening.",
            "The wind comes from the north west, with gusts on Thursday.",
        ],
        "overwrite": True,
        "mode": low,
    }
    for city, low in (("Lisbon", 17), ("Reykjavik", 4), ("Nairobi", 14))
]
_PROSE = (
    "I will look at the weather of the three cities first, and then write one short report for each of them, "
    "so that you can send them out before the meeting on Monday. The figures come from the same service as last "
    "week; where a station was silent, the report says so instead of guessing. "
)
TEXT = "I'll check the weather in all three cities."


def _calls(prefix: str, name: str, arguments: list[dict[str, Any]]) -> list[Call]:
    endings = ("Qm3vYt8LhRk2XwZc5NpB7sDf", "a9TgJx4EoVu1MiKy6WbHq0Cr", "Zs2PnL7dFw5GeAj8UvRt3OxI")
    return [Call(prefix + ending, name, given) for ending, given in zip(endings, arguments, strict=True)]


def expected(wire: str, stream: bool) -> list[Call]:
    """Return the calls in the body or stream of a wire."""
    prefix = {"anthropic.messages": "toolu_01", "xai.grpc": "call-"}.get(wire, "call_")
    return _calls(prefix, "write_report", _LONG_ARGUMENTS) if stream else _calls(prefix, "get_weather", _ARGUMENTS)


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def tokens(text: str) -> list[str]:
    """Split a text into pieces of about the size of a model's tokens."""
    return re.findall(r" ?\w{1,6}|[^\w ]{1,3}| ", text)


def text_pieces(count: int) -> list[str]:
    """Return ``count`` pieces of text."""
    pieces: list[str] = []
    while len(pieces) < count:
        pieces += tokens(_PROSE)
    return pieces[:count]


def padding(number: int) -> str:
    """Return the padding of an event of OpenAI's streams, whose length varies."""
    return "kT4wQz8rNb2Lx9VcYm"[: 4 + number * 7 % 14]
