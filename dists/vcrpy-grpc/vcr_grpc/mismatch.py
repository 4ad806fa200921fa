"""The error for a call without a recorded response: the nearest recorded request and its differences."""

from __future__ import annotations

import json
from typing import Any

from vcr.matchers import get_matchers_results
from vcr.util import read_body

from .errors import CallNotRecorded
from .interaction import SCHEME, message_of
from .messages import differences

_SHOWN = 8
_VALUE_CHARS = 120
_ADDRESS = ("method", "scheme", "host", "port", "path", "query", "uri", "url", "headers")


def miss(cassette: Any, request: Any) -> CallNotRecorded:
    """Return the error for a call that can neither be played nor recorded."""
    similar = cassette.find_requests_with_most_matches(request)
    filtered = cassette.filter_request(request)
    mode = getattr(cassette.record_mode, "value", cassette.record_mode)
    names = ", ".join(getattr(matcher, "__name__", repr(matcher)) for matcher in cassette._match_on)
    lines = [
        f"no recorded response for {filtered.uri}; nothing was sent",
        f"  cassette: {cassette._path} (record_mode {mode}, match_on {names}; "
        f"{len(cassette)} interactions, {len(cassette.play_counts)} played)",
    ]
    nearest = _nearest(cassette, filtered)
    if nearest is None:
        empty = not len(cassette)
        reason = "cassette_not_found" if empty and not cassette.rewound else "nothing_similar"
        lines.append("  the cassette is empty" if empty else "  no gRPC call is recorded in it")
    else:
        number, recorded, failed = nearest
        reason = "no_match" if failed else "already_played"
        lines.append(f"  nearest recorded request: interaction {number}, {recorded.uri}")
        lines += _what_differs(recorded, filtered, failed)
    lines.append(f"  {_hint(reason)}")
    return CallNotRecorded("\n".join(lines), cassette=cassette, failed_request=request, similar=similar, reason=reason)


def _nearest(cassette: Any, request: Any) -> tuple[int, Any, list[tuple[str, str]]] | None:
    """Return number (from 1), request and failed matchers of the recorded call with the fewest differences."""
    ranked = []
    for number, recorded in enumerate(cassette.requests, 1):
        if recorded.scheme != SCHEME:
            continue
        _, failed = get_matchers_results(request, recorded, cassette._match_on)
        ranked.append((len(failed), len(_body_differences(recorded, request)), number, recorded, failed))
    if not ranked:
        return None
    *_, number, recorded, failed = min(ranked, key=lambda entry: entry[:3])
    return number, recorded, failed


def _body_differences(recorded: Any, request: Any) -> list[tuple[str, Any, Any]]:
    return differences(message_of(read_body(recorded)), message_of(read_body(request)))


def _what_differs(recorded: Any, request: Any, failed: list[tuple[str, str]]) -> list[str]:
    if not failed:
        return ["    it matches, and all its recorded responses were already played"]
    lines = []
    for name, difference in failed:
        if name in _ADDRESS:
            lines.append(f"    {name} differs: {difference or 'no details'}")
            continue
        body_differences = _body_differences(recorded, request)
        lines.append(f"    {name} differs{':' if body_differences else ', outside its readable message'}")
        lines += [
            f"      {path or 'the message'}: recorded {_short(old)}, now {_short(new)}"
            for path, old, new in body_differences[:_SHOWN]
        ]
        if len(body_differences) > _SHOWN:
            lines.append(f"      and {len(body_differences) - _SHOWN} more")
    return lines


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (str, dict, list)) else repr(value)
    return text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}… ({len(text)} characters)"


def _hint(reason: str) -> str:
    if reason == "already_played":
        return "what to do: allow_playback_repeats=True to play it again, or record_mode='new_episodes' to record more"
    return "what to do: correct the request, or record it (record_mode='new_episodes' adds to the cassette)"
