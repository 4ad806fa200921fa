"""Which recorded request answers the one that is sent: the same method, address and meaning of the body.

A body of JSON is compared by value: the order of keys and the spelling of numbers do not count, everything else does,
so that a request which lost a field finds nothing. A body of anything else is compared byte for byte. Of the headers
those count that choose an interface (`CHOOSING`), where the recording keeps any of them: an imported cassette keeps
none. A miss says what differs from the nearest recorded request (`Unrecorded`).

    match_on = register(vcr)        # gives a vcr.VCR the matchers, and their names
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from vcr import VCR
from vcr.cassette import Cassette
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.request import Request
from vcr.util import read_body

from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import RequestNotRecorded

from .secrets.placeholder import is_placeholder

#: Members of a query that say who asks, not what for; the same credential may stand in a header instead.
CREDENTIALS_IN_QUERY = frozenset(("key", "api_key", "api-key", "access_token"))
#: Headers by which one body gets other answers. Each may name several things, in any order.
CHOOSING = ("anthropic-version", "anthropic-beta", "openai-beta")

SCRUBBED = "(scrubbed)"

_RPC = "grpc://"
_PORTS = {"https": 443, "http": 80}
#: What `vcr_grpc` writes of a message that holds no unknown fields.
_OF_A_MESSAGE = frozenset(("message", "serialized", "type"))
_WEIGHT_OF_A_MESSAGE = 10
_MOST_DIFFERENCES = 12
_LONGEST_VALUE = 60
_MISSING: Any = type("Missing", (), {"__repr__": lambda self: "missing"})()


def method(sent: Request, recorded: Request) -> None:
    """The HTTP method. As every matcher here, it raises an AssertionError that says what differs."""
    if sent.method != recorded.method:
        raise AssertionError(f"{sent.method} instead of {recorded.method}")


def address(sent: Request, recorded: Request) -> None:
    """Where the request goes, without credentials and whatever the order of the query.

    Of a member whose value was scrubbed only the name counts.
    """
    if _place(sent.uri) != _place(recorded.uri):
        raise AssertionError(f"{sent.uri} instead of {recorded.uri}")


def meaning(sent: Request, recorded: Request) -> None:
    """What the body says."""
    found = [str(one) for one in _inside(recorded, sent)]
    if found:
        raise AssertionError("\n".join(found))


def interface(sent: Request, recorded: Request) -> None:
    """The headers that choose an interface, where the recorded request has any of them."""
    asked, kept = _choices(sent), _choices(recorded)
    found = [f"the header {name}: {_words(kept, name)} -> {_words(asked, name)}" for name in CHOOSING
             if kept and asked.get(name) != kept.get(name)]  # fmt: skip
    if found:
        raise AssertionError("\n".join(found))


MATCHERS = {
    "toolparity.method": method,
    "toolparity.address": address,
    "toolparity.headers": interface,
    "toolparity.body": meaning,
}


def register(vcr: VCR) -> tuple[str, ...]:
    """Makes the matchers known to a VCR, and is what its ``match_on`` takes."""
    for name, matcher in MATCHERS.items():
        vcr.register_matcher(name, matcher)
    return tuple(MATCHERS)


class Difference(NamedTuple):
    """One place where two bodies differ: ``path`` like ``messages[1].content``; a side that has nothing is missing."""

    path: str
    recorded: Any
    sent: Any

    def __str__(self) -> str:
        if self.recorded is _MISSING:
            return f"{self.path}: added {_short(self.sent)}"
        if self.sent is _MISSING:
            return f"{self.path}: removed, was {_short(self.recorded)}"
        return f"{self.path}: {_short(self.recorded)} -> {_short(self.sent)}"


def differences(recorded: Any, sent: Any, *, rpc: bool = False) -> Iterator[Difference]:
    """What changed from a recorded body (bytes, text or null) to the one that is sent. Nothing: they mean the same.

    ``rpc``: the bodies hold a gRPC message each, as `vcr_grpc` writes it.
    """
    if recorded == sent:
        return
    old, new = _value(_bytes(recorded)), _value(_bytes(sent))
    if rpc:
        old, new = _told_once(old), _told_once(new)
    if old is _MISSING or new is _MISSING:
        if _bytes(recorded) != _bytes(sent):
            yield Difference("the body", _bytes(recorded), _bytes(sent))
        return
    yield from _compared("", old, new)


def _inside(recorded: Request, sent: Request) -> Iterator[Difference]:
    return differences(read_body(recorded), read_body(sent), rpc=recorded.uri.startswith(_RPC))


def _choices(request: Request) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        if name.lower() in CHOOSING:
            values = value if isinstance(value, list) else [value]
            words = (word.strip() for one in values for word in _bytes(one).decode("latin-1").split(","))
            told[name.lower()] = sorted(word for word in words if word)
    return told


def _words(choices: dict[str, list[str]], name: str) -> str:
    return ", ".join(choices[name]) if name in choices else "missing"


def _told_once(value: Any) -> Any:
    """A gRPC message stands in a cassette twice, readable and exact: where the readable form says all, it suffices."""
    if isinstance(value, dict) and {"message", "serialized"} <= value.keys() <= _OF_A_MESSAGE:
        return {key: inner for key, inner in value.items() if key != "serialized"}
    return value


def _compared(path: str, old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from _compared(inner, old.get(key, _MISSING), new.get(key, _MISSING))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            pair = (items[index] if index < len(items) else _MISSING for items in (old, new))
            yield from _compared(f"{path}[{index}]", *pair)
    elif not _same(old, new):
        yield Difference(path or "the body", old, new)


def _same(old: Any, new: Any) -> bool:
    """JSON's own types: true is not 1, 1 is 1.0."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    return bool(old == new)


@lru_cache(maxsize=512)  # a request is compared with every recorded one
def _value(body: bytes) -> Any:
    """The JSON value of a body; missing where it is none, or none that has one meaning."""
    try:
        return json.loads(body, parse_float=Decimal, parse_constant=_no_number, object_pairs_hook=_object)
    except (ValueError, RecursionError, ArithmeticError):
        return _MISSING


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a member stands there twice: which one counts is for the server to say")
    return made


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
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


def _short(value: Any) -> str:
    if isinstance(value, bytes):
        text = f"{len(value)} bytes {value[:24]!r}" if len(value) > _LONGEST_VALUE else repr(value)
    else:
        text = json_codec.text(_plain(value))
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _plain(value: Any) -> Any:
    """Without Decimals, for showing."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return float(value) if isinstance(value, Decimal) else value


class Unrecorded(RequestNotRecorded, CannotOverwriteExistingCassetteException):  # type: ignore[misc]
    """A request that the cassette has no answer for. Whoever catches vcrpy's own error catches this one.

    ``failed_request``; ``nearest``: the recorded request that is most like it, or null; ``differences`` between them;
    ``reason``: as vcrpy names it. The SDKs wrap it in a connection error of theirs, whose ``__cause__`` it is.
    """

    def __init__(self, *, cassette: Cassette, failed_request: Request) -> None:
        request = cassette.filter_request(failed_request) or failed_request
        self.cassette = cassette
        self.failed_request = failed_request
        self.similar_requests: list[Any] = []
        self.nearest, self.differences = _nearest(cassette, request)
        self.reason = _reason(len(cassette), self.nearest, self.differences)
        # vcrpy's initialiser would write a message of its own
        self.what = _told(cassette, request, self.nearest, self.differences)
        self.where = str(cassette.path)
        self.hint = self.hint_default
        Exception.__init__(self, self.what, self.where, self.hint)


def _reason(recorded: int, nearest: Request | None, found: list[str]) -> str:
    if not recorded:
        return "cassette_not_found"
    if nearest is None:
        return "nothing_similar"
    return "no_match" if found else "already_played"


def _nearest(cassette: Cassette, request: Request) -> tuple[Request | None, list[str]]:
    """The recorded request with the least that differs, and that: of two alike the one that was not played yet."""
    ranked = []
    for index, recorded in enumerate(cassette.requests):
        elsewhere = [
            told for matcher in (method, address, interface) if (told := _asserted(matcher, request, recorded))
        ]
        inside = list(_inside(recorded, request))
        far = sum(map(_weight, inside))
        played = bool(cassette.play_counts[index])
        ranked.append((len(elsewhere), far, played, index, [*elsewhere, *map(str, inside)]))
    if not ranked:
        return None, []
    *_, index, found = min(ranked)
    return cassette.requests[index], found


def _weight(one: Difference) -> int:
    """A list that is longer or shorter is most likely another round of the conversation, and not this one changed."""
    other_length = one.path.endswith("]") and (one.recorded is _MISSING or one.sent is _MISSING)
    return _WEIGHT_OF_A_MESSAGE if other_length else 1


def _asserted(matcher: Any, sent: Request, recorded: Request) -> str:
    try:
        matcher(sent, recorded)
    except AssertionError as error:
        return str(error)
    return ""


def _told(cassette: Cassette, request: Request, nearest: Request | None, found: list[str]) -> str:
    sent = f"{request.method} {request.uri}"
    if nearest is None:
        return f"{sent} is not recorded: the cassette holds nothing, or is not there"
    if not found:
        count = sum(not [*_inside(one, request)] for one in cassette.requests)
        times = "once" if count == 1 else f"{count} times"
        return f"{sent} was recorded {times}, and has been played as often"
    shown = [f"\n  {one}" for one in found[:_MOST_DIFFERENCES]]
    if len(found) > _MOST_DIFFERENCES:
        shown.append(f"\n  and {len(found) - _MOST_DIFFERENCES} more")
    place = cassette.requests.index(nearest) + 1
    nearest_is = f"the nearest, interaction {place} of {len(cassette)}"
    return f"{sent} is not recorded. From {nearest_is}, it differs in{''.join(shown)}\n"
