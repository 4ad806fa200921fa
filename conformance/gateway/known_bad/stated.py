"""Gateways that drop one thing which a request states: a setting, an image, a document or the marks for the cache."""

from __future__ import annotations

from collections.abc import Callable

from toolparity.cassettes.stated import MEDIA, PLACES, without, without_parts

from . import CHAT, MESSAGES, add
from .passing import Asked

#: Setting -> the scenario that is about it.
_SCENARIOS = {
    **{
        name: name.replace("_", "-")
        for name in ("temperature", "top_p", "seed", "user", "logprobs", "image", "document")
    },
    "stop": "stop-words",
    "presence_penalty": "penalties",
    "length": "length-limit",
    "format": "answer-schema",
    "json": "json-answer",
    "metadata": "request-metadata",
    "image_url": "image-address",
    "service_tier": "accounts",
    "store": "accounts",
    "cache_key": "accounts",
}
#: Settings that another provider must get: the wire of the upstream.
_ON_THE_WAY = {
    **dict.fromkeys(("stop", "temperature", "format", "image", "image_url", "document"), MESSAGES),
    **dict.fromkeys(("seed", "json", "logprobs"), "xai.grpc"),
}


def _dropping(name: str, wire: str) -> Callable[[Asked], None]:
    def drop(asked: Asked) -> None:
        if name in MEDIA | {"cache"}:
            asked.body = without_parts(asked.body, name)
        else:
            asked.body = without(asked.body, wire, [name])

    assert name in PLACES[wire]
    return drop


for _name, _scenario in _SCENARIOS.items():
    _sentence, _cases = f"Drops the setting {_name}.", f"states-{_scenario} plain"
    add(f"drops-{_name.replace('_', '-')}", _sentence, "replay", _cases, "request", _dropping(_name, CHAT))
    if _name in _ON_THE_WAY:
        _args = (_cases, "request", _dropping(_name, CHAT), CHAT, _ON_THE_WAY[_name])
        add(f"drops-{_name.replace('_', '-')}-on-the-way", _sentence, "handoff", *_args)
add(
    "drops-cache",
    "Drops the cache marks.",
    "replay",
    "states-cache-marks plain",
    "request",
    _dropping("cache", MESSAGES),
    MESSAGES,
)
