"""Request matching for replay: same method, same address, same API headers, equivalent body.

JSON bodies are compared by value: key order and number spelling do not count, everything else does. A request that lost
a field therefore matches nothing. Multipart bodies are compared part by part, without their boundary, which a client
chooses at random. Other bodies are compared byte for byte. The headers in `CHOOSING` are compared only
if the recorded request has any of them, because imported cassettes keep none. `UnrecordedRequest` reports a mismatch
and lists the differences from the nearest recorded request.

    match_on = register(vcr)        # registers the matchers on a vcr.VCR and returns their names
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from vcr import VCR
from vcr.cassette import Cassette
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.request import Request
from vcr.util import read_body

from toolparity.normalizer import json_codec
from toolparity.turns.secrets.placeholder import is_placeholder

from . import multipart, structured
from .errors import RequestNotRecorded

#: Query members that carry credentials. They are ignored, since the same credential may be sent in a header instead.
CREDENTIALS_IN_QUERY = frozenset(("key", "api_key", "api-key", "access_token"))
#: Headers that select the API version or features. Each may hold several comma-separated values, in any order.
CHOOSING = ("anthropic-version", "anthropic-beta", "openai-beta")

SCRUBBED = "(scrubbed)"

_RPC = "grpc://"
_PORTS = {"https": 443, "http": 80}
#: The members that `vcr_grpc` writes for a message without unknown fields.
_OF_A_MESSAGE = frozenset(("message", "serialized", "type"))
_WEIGHT_OF_A_MESSAGE = 10
_MOST_DIFFERENCES = 12
_LONGEST_VALUE = 60
_MISSING: Any = type("Missing", (), {"__repr__": lambda self: "missing"})()


def method(sent: Request, recorded: Request) -> None:
    """Compare the HTTP methods. Like every matcher here, raise AssertionError that describes the difference."""
    if sent.method != recorded.method:
        raise AssertionError(f"{sent.method} instead of {recorded.method}")


def address(sent: Request, recorded: Request) -> None:
    """Compare the addresses, ignoring credentials and the order of the query.

    If the value of a query member was scrubbed, only its name is compared.
    """
    if _place(sent.uri) != _place(recorded.uri):
        raise AssertionError(f"{sent.uri} instead of {recorded.uri}")


def meaning(sent: Request, recorded: Request) -> None:
    """Compare the bodies (see `differences`)."""
    problems = [str(difference) for difference in _inside(recorded, sent)]
    if problems:
        raise AssertionError("\n".join(problems))


def interface(sent: Request, recorded: Request) -> None:
    """Compare the `CHOOSING` headers, if the recorded request has any of them."""
    sent_choices, recorded_choices = _choices(sent), _choices(recorded)
    if not recorded_choices:
        return
    different = [header for header in CHOOSING if sent_choices.get(header) != recorded_choices.get(header)]
    if different:
        lines = (f"the header {h}: {_words(recorded_choices, h)} -> {_words(sent_choices, h)}" for h in different)
        raise AssertionError("\n".join(lines))


MATCHERS = {
    "toolparity.method": method,
    "toolparity.address": address,
    "toolparity.headers": interface,
    "toolparity.body": meaning,
}


def register(vcr: VCR) -> tuple[str, ...]:
    """Register the matchers on a VCR and return their names, to pass as ``match_on``."""
    for name, matcher in MATCHERS.items():
        vcr.register_matcher(name, matcher)
    return tuple(MATCHERS)


class BodyDifference(NamedTuple):
    """One difference between two bodies.

    ``path`` looks like ``messages[1].content``. A side without the member holds a ``missing`` sentinel.
    """

    path: str
    recorded: Any
    sent: Any

    def __str__(self) -> str:
        if self.recorded is _MISSING:
            return f"{self.path}: added {shorten(self.sent)}"
        if self.sent is _MISSING:
            return f"{self.path}: removed, was {shorten(self.recorded)}"
        return f"{self.path}: {shorten(self.recorded)} -> {shorten(self.sent)}"


def differences(recorded: Any, sent: Any, *, rpc: bool = False) -> Iterator[BodyDifference]:
    """Yield the differences between a recorded body and the sent one (bytes, text or None). No difference: they match.

    ``rpc``: each body holds a gRPC message as `vcr_grpc` writes it. A body of aiohttp that has not been encoded counts
    as its JSON.
    """
    if recorded == sent:
        return
    before, after = _bytes(recorded), _bytes(sent)
    old, new = _value(before), _value(after)
    if rpc:
        old, new = _readable_only(old), _readable_only(new)
    if old is not _MISSING and new is not _MISSING:
        yield from compare("", old, new)
    elif (old_parts := multipart.parts(before)) is not None and (new_parts := multipart.parts(after)) is not None:
        yield from _of_parts(old_parts, new_parts)
    elif before != after:
        yield BodyDifference("the body", before, after)


def _of_parts(old: list[multipart.Part], new: list[multipart.Part]) -> Iterator[BodyDifference]:
    for index, (before, after) in enumerate(zip_longest(old, new, fillvalue=_MISSING)):
        if before is _MISSING or after is _MISSING:
            yield BodyDifference(f"parts[{index}]", *(p if p is _MISSING else p.content for p in (before, after)))
            continue
        path = f"parts[{index}] ({before.name})" if before.name else f"parts[{index}]"
        yield from compare(f"{path}.headers", before.headers, after.headers)
        if before.content != after.content:
            yield BodyDifference(f"{path}.content", before.content, after.content)


def _inside(recorded: Request, sent: Request) -> Iterator[BodyDifference]:
    return differences(read_body(recorded), read_body(sent), rpc=recorded.uri.startswith(_RPC))


def _choices(request: Request) -> dict[str, list[str]]:
    choices: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        if name.lower() in CHOOSING:
            values = value if isinstance(value, list) else [value]
            words = (word.strip() for value in values for word in _bytes(value).decode("latin-1").split(","))
            choices[name.lower()] = sorted(word for word in words if word)
    return choices


def _words(choices: dict[str, list[str]], name: str) -> str:
    return ", ".join(choices[name]) if name in choices else "missing"


def _readable_only(value: Any) -> Any:
    """Drop the exact bytes of a gRPC message if its readable form is complete.

    `vcr_grpc` records each message in both forms.
    """
    if isinstance(value, dict) and {"message", "serialized"} <= value.keys() <= _OF_A_MESSAGE:
        return {key: inner for key, inner in value.items() if key != "serialized"}
    return value


def compare(path: str, old: Any, new: Any) -> Iterator[BodyDifference]:
    """Yield the differences between two JSON values. ``path``: the path of both."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from compare(inner, old.get(key, _MISSING), new.get(key, _MISSING))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            pair = (items[index] if index < len(items) else _MISSING for items in (old, new))
            yield from compare(f"{path}[{index}]", *pair)
    elif not _same(old, new):
        yield BodyDifference(path or "the body", old, new)


def _same(old: Any, new: Any) -> bool:
    """Compare JSON scalars by type and value: true is not 1, but 1 equals 1.0."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    return bool(old == new)


@lru_cache(maxsize=512)  # a request is compared with every recorded one
def _value(body: bytes) -> Any:
    """Return the JSON value of a body, or ``_MISSING`` if it is not JSON or is ambiguous (duplicate keys)."""
    try:
        return json.loads(body, parse_float=Decimal, parse_constant=_no_number, object_pairs_hook=_object)
    except (ValueError, RecursionError, ArithmeticError):
        return _MISSING


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is duplicated: which one counts is for the server to say")
    return members


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
    if structured.is_structured(body):
        return json_codec.encode(structured.plain(body))
    return body.encode("utf-8", "surrogatepass") if isinstance(body, str) else bytes(body)


def _place(uri: str) -> tuple[Any, ...]:
    parts = urlsplit(uri)
    query = sorted(
        (name, SCRUBBED if is_placeholder(value) else value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name.lower() not in CREDENTIALS_IN_QUERY
    )
    port = parts.port or _PORTS.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port, parts.path.rstrip("/") or "/", query


def shorten(value: Any) -> str:
    """Return a value as JSON for a message, cut after 60 characters."""
    if value is _MISSING:
        return "missing"
    if isinstance(value, bytes):
        text = f"{len(value)} bytes {value[:24]!r}" if len(value) > _LONGEST_VALUE else repr(value)
    else:
        text = json_codec.text(_plain(value))
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _plain(value: Any) -> Any:
    """Replace Decimals with floats, so that the value can be encoded for a message."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return float(value) if isinstance(value, Decimal) else value


class UnrecordedRequest(RequestNotRecorded, CannotOverwriteExistingCassetteException):  # type: ignore[misc]
    """The cassette has no response for a request. A subclass of vcrpy's own error, so handlers of that catch it too.

    ``failed_request``: the request that was sent. ``nearest``: the most similar recorded request, or None.
    ``differences``: the differences between the two. ``reason``: vcrpy's name for the cause. The SDKs raise their own
    connection error with this one as its ``__cause__``.
    """

    hint_default = "--cassette-mode once records what is missing, --cassette-mode rewrite everything"

    def __init__(self, *, cassette: Cassette, failed_request: Request) -> None:
        request = cassette.filter_request(failed_request) or failed_request
        self.cassette = cassette
        self.failed_request = failed_request
        self.similar_requests: list[Any] = []
        self.nearest, self.differences = _nearest(cassette, request)
        self.reason = _reason(len(cassette), self.nearest, self.differences)
        # Skip vcrpy's initializer, which would replace the message.
        self.what = _message(cassette, request, self.nearest, self.differences)
        self.where = str(cassette.path)
        self.hint = self.hint_default
        Exception.__init__(self, self.what, self.where, self.hint)


def _reason(recorded: int, nearest: Request | None, problems: list[str]) -> str:
    if not recorded:
        return "cassette_not_found"
    if nearest is None:
        return "nothing_similar"
    return "no_match" if problems else "already_played"


def _nearest(cassette: Cassette, request: Request) -> tuple[Request | None, list[str]]:
    """Return the recorded request with the fewest differences, and those differences.

    Among equally similar requests, prefer one that was not played yet.
    """
    ranked = []
    for index, recorded in enumerate(cassette.requests):
        outside = [
            problem for matcher in (method, address, interface) if (problem := _asserted(matcher, request, recorded))
        ]
        inside = list(_inside(recorded, request))
        far = sum(map(_weight, inside))
        played = bool(cassette.play_counts[index])
        ranked.append((len(outside), far, played, index, [*outside, *map(str, inside)]))
    if not ranked:
        return None, []
    *_, index, problems = min(ranked)
    return cassette.requests[index], problems


def _weight(difference: BodyDifference) -> int:
    """Return the weight of a difference. It is larger for lists of unequal length, which are often of other rounds."""
    other_length = difference.path.endswith("]") and (difference.recorded is _MISSING or difference.sent is _MISSING)
    return _WEIGHT_OF_A_MESSAGE if other_length else 1


def _asserted(matcher: Any, sent: Request, recorded: Request) -> str:
    try:
        matcher(sent, recorded)
    except AssertionError as error:
        return str(error)
    return ""


def _message(cassette: Cassette, request: Request, nearest: Request | None, problems: list[str]) -> str:
    sent = f"{request.method} {request.uri}"
    if nearest is None:
        return f"{sent} is not recorded: the cassette is empty or missing"
    if not problems:
        count = sum(not [*_inside(problem, request)] for problem in cassette.requests)
        times = "once" if count == 1 else f"{count} times"
        return f"{sent} was recorded {times} and played as often"
    shown = [f"\n  {problem}" for problem in problems[:_MOST_DIFFERENCES]]
    if len(problems) > _MOST_DIFFERENCES:
        shown.append(f"\n  and {len(problems) - _MOST_DIFFERENCES} more")
    number = cassette.requests.index(nearest) + 1
    nearest_is = f"the nearest, interaction {number} of {len(cassette)}"
    return f"{sent} is not recorded. From {nearest_is}, it differs in{''.join(shown)}\n"
