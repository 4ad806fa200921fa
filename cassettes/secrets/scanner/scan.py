"""Scan of a whole cassette, part by part."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from toolparity.cassettes.errors import UnreadableSource
from toolparity.cassettes.sources.bodies import unpacked, wide_encoding
from toolparity.turns.secrets import ACCOUNTS, patterns
from toolparity.turns.secrets.placeholder import is_placeholder

from .. import addresses, allowed
from .. import headers as header_rules
from ..allowed import AllowList
from .decodings import Reading, TooMuch, ValueReader
from .environment_keys import own_keys, parts_of
from .proto import is_readable

_SCHEMES = ("bearer", "basic", "token", "apikey", "digest")

#: Names of members that every cassette has.
_USUAL = frozenset(("", "request", "response", "method", "uri", "headers", "body", "status", "protocol", "recorded_at"))
_HEADER_PARTS = frozenset({"headers", "trailers", "trailing_metadata", "initial_metadata"})


@dataclass(frozen=True)
class SecretLeak:
    """Something that looks like a secret, and its location, but not the secret itself.

    ``interaction`` counts from 1; 0 means outside the interactions. ``part``: "request.body", "response.headers", ….
    ``path``: leads to the value inside the part. ``excerpt``: the secret's beginning and its length. ``entry``: the
    entry of the allow-list for this value. ``also``: the other places of the value.
    """

    kind: str
    interaction: int
    part: str
    path: str
    excerpt: str
    entry: str = ""
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        inside = f" at {self.path}" if self.path else ""
        more = f", and {len(self.also) - 2} more" if len(self.also) > 2 else ""
        also = f"; also in {'; '.join(self.also[:2])}{more}" if self.also else ""
        return f"{self.kind} in {_place(self.interaction, self.part)}{inside}: {self.excerpt}{also}"


def _place(interaction: int, part: str) -> str:
    return f"interaction {interaction}, {part}" if interaction else part


def _masked(secret: str) -> str:
    """Return enough to find a secret but not to use it: at most four characters, and at most a fifth."""
    shown = secret[: min(4, len(secret) // 5)]
    return f"{shown}… ({len(secret)} characters)"


def scan(
    cassette: Mapping[str, Any],
    environ: Mapping[str, str] | None = None,
    *,
    found_before: frozenset[str] = frozenset(),
    allow: AllowList | None = None,
) -> list[SecretLeak]:
    """Return everything in a cassette that looks like a secret, one leak per value.

    ``cassette``: vcrpy's ``{"requests", "responses", …}``, or the form in a file (``interactions``). ``environ``: the
    environment with the own keys; by default the process's. ``found_before``: the result of `secrets_in` for the same
    traffic before scrubbing; no part of it may remain. ``allow``: by default the allow-list of the project.
    """
    keys = {f"value of {name}": spellings for name, spellings in own_keys(environ).items()}
    keys["rest of a secret"] = parts_of(found_before)
    allow = allowed.of_project() if allow is None else allow
    found: dict[str, dict[tuple[int, str], tuple[str, str]]] = {}
    for number, part, (kind, path, secret) in _all(cassette, keys):
        if not allow.allows(secret, by_pattern=kind not in keys):
            found.setdefault(secret, {}).setdefault((number, part), (kind, path))
    whole = {
        place: [secret for secret in found if place in found[secret]] for places in found.values() for place in places
    }
    leaks = [
        (secret, places)
        for secret, places in found.items()
        if not all(any(secret != other and secret in other for other in whole[place]) for place in places)
    ]
    secrets = [secret for secret, places in leaks if next(iter(places.values()))[0] not in _NOT_RANDOM]
    secrets.sort(key=len, reverse=True)
    return [_leak(secret, places, secrets) for secret, places in leaks]


def _leak(secret: str, places: dict[tuple[int, str], tuple[str, str]], secrets: list[str]) -> SecretLeak:
    (number, part), (kind, path) = min(places.items(), key=lambda place: place[1][0] != "header")
    excerpt = secret.partition("\0")[0] if kind == "unreadable" else _masked(secret)
    entry = allowed.entry_of(secret)
    also = tuple(_place(*place) for place in places if place != (number, part))
    return SecretLeak(kind, number, _without(part, secrets), _without(path, secrets), excerpt, entry, also)


def _without(place: str, secrets: list[str]) -> str:
    """Return a place without the secrets that are names of members."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_IN_A_PLACE and secret.lower() in place.lower():
            place = re.sub(re.escape(secret), lambda found: _masked(found.group()), place, flags=re.IGNORECASE)
    return place


def secrets_in(cassette: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the secrets themselves, to search for after scrubbing. Never write or display them.

    A scrubber that removes only a part of a secret can leave a rest that no longer looks like one.
    """
    keys = {f"value of {name}": spellings for name, spellings in own_keys(environ).items()}
    return frozenset(secret for _, _, (kind, _, secret) in _all(cassette, keys) if kind not in _NOT_RANDOM)


#: A shorter one may be a word that names a member.
_SHORTEST_IN_A_PLACE = 8
#: The members that spell a body. A mapping with others is the body, as vcrpy keeps the JSON and forms of aiohttp.
_SPELLED_BODY = frozenset({"string", "base64_string"})
_NOT_RANDOM = frozenset({"unreadable", "header", "e-mail address", "masked key", "account or request id"})

_Found = tuple[str, str, str]  # kind, path, secret


def _all(cassette: Mapping[str, Any], keys: Mapping[str, list[str]]) -> Iterator[tuple[int, str, _Found]]:
    interactions = cassette.get("interactions")
    if interactions is None:
        pairs = zip(cassette.get("requests") or (), cassette.get("responses") or (), strict=True)
        interactions = [{"request": request, "response": response} for request, response in pairs]
    for number, interaction in enumerate(interactions, 1):
        for name, value in interaction.items():
            parts = _members(value) if name in ("request", "response") else {"": value}
            for leak in _look((Reading("", "", str(each)) for each in (name, *parts) if each not in _USUAL), keys):
                yield number, "name of a member", leak
            for part, content in parts.items():
                label = f"{name}.{part}" if part else name
                for leak in _part(part, content, parts, keys):
                    yield number, label, leak
    for name, value in cassette.items():
        if name not in ("interactions", "requests", "responses"):
            for leak in _look(iter((Reading("", "", str(name)), *_values(value))), keys):
                yield 0, name, leak


def _members(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    return {"method": value.method, "uri": value.uri, "headers": dict(value.headers), "body": value.body}


def _part(part: str, content: Any, parts: Mapping[str, Any], keys: Mapping[str, list[str]]) -> Iterator[_Found]:
    if part in _HEADER_PARTS and isinstance(content, Mapping):
        yield from _headers(content)
        yield from _look(_header_values(content), keys)
        return
    if part in ("uri", "url") and isinstance(content, str):
        for start, end in addresses.credentials(content):
            if not _is_scrubbed(unquote(content[start:end])):
                yield "credentials in a URL", "", unquote(content[start:end])
    if part == "body":
        headers = parts.get("headers")
        content, problem = _body(content, headers if isinstance(headers, Mapping) else {})
        if not problem and isinstance(content, bytes) and not (wide_encoding(content) or is_readable(content)):
            problem = "neither UTF-8 nor a known binary format"
        if problem:
            yield "unreadable", "", f"{problem}\0{content!r}"
    yield from _look(_values(content), keys)


def _headers(headers: Mapping[Any, Any]) -> Iterator[_Found]:
    for name, value in headers.items():
        lowered = str(name).lower()
        if not header_rules.is_replaced(lowered):
            continue
        for text in value if isinstance(value, list | tuple) else [value]:
            plain = text.decode("latin-1") if isinstance(text, bytes) else str(text)
            scheme, _, rest = plain.partition(" ")
            credential = rest if scheme.lower() in _SCHEMES and rest else plain
            if credential and not (_is_scrubbed(credential) or header_rules.is_masked(credential, lowered)):
                yield "header", lowered, credential


def _header_values(headers: Mapping[Any, Any]) -> Iterator[Reading]:
    """Yield the decodings of headers. Where the name decides, `_headers` has judged it, and only the value remains."""
    judged = [name for name in headers if header_rules.is_judged(str(name))]
    yield from _values({name: value for name, value in headers.items() if name not in judged})
    for name in judged:
        yield Reading("", "", str(name))
        yield from (read._replace(path=str(name)) for read in _values(headers[name]))


def _body(body: Any, headers: Mapping[Any, Any]) -> tuple[Any, str]:
    """Return the body decoded according to its headers, and the reason if that fails."""
    if isinstance(body, Mapping) and body.keys() & _SPELLED_BODY:
        body = body.get("string") if body.get("base64_string") is None else body["base64_string"]
    encoding = next((value for name, value in headers.items() if str(name).lower() == "content-encoding"), None)
    if not encoding or not isinstance(body, bytes):
        return body, ""
    names = ", ".join(map(str, encoding)) if isinstance(encoding, list | tuple) else str(encoding)
    try:
        return unpacked(body, names), ""
    except UnreadableSource as error:
        return body, error.what


def _values(value: Any) -> Iterator[Reading]:
    """Yield every decoding of a value of any type. Raises TooMuch."""
    reader = ValueReader()
    if isinstance(value, bytes):
        yield from reader.raw(value)
        yield Reading("", "", value.decode("utf-8", "replace"), opaque=True)
    elif isinstance(value, str):
        yield from reader.text(value)
        yield Reading("", "", value, opaque=True)
    elif isinstance(value, Mapping):
        yield Reading("", "", json.dumps(value, ensure_ascii=False, default=str), document=True)
        for name, member in value.items():
            yield Reading("", "", str(name))
            yield from (
                r._replace(path=f"{name}.{r.path}".rstrip("."), name=r.name or str(name)) for r in _values(member)
            )
    elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):  # a member of a form
        yield from _values(dict([value]))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _values(item)
    elif hasattr(value, "read"):
        yield from _values(value.read())


def _look(readings: Iterator[Reading], keys: Mapping[str, list[str]]) -> Iterator[_Found]:
    texts: list[Reading] = []
    documents: list[Reading] = []
    try:
        for read in readings:
            (documents if read.document else texts).append(read)
    except TooMuch:
        yield "unreadable", "", f"it decompresses to too much data\0{len(texts)}"
    everything = _ConcatenatedTexts(texts)
    unbroken = "".join(everything.text.split())  # also find a key that is broken by line ends or blanks
    for kind, spellings in keys.items():
        for spelling in spellings:
            at = everything.text.find(spelling)
            if at >= 0 or "".join(spelling.split()) in unbroken:
                yield kind, everything.path_at(at), spelling
                break
    plain = _ConcatenatedTexts([read for read in texts if not read.opaque])
    for text, member in ((plain.text, None), *((read.text, True) for read in documents)):
        for form in patterns.patterns_in(text, member=member):
            for found in patterns.matches(form, text):
                if not _is_scrubbed(found.secret):
                    kind = "account or request id" if form.kind in _IDS else form.kind
                    yield kind, plain.path_at(plain.text.find(found.secret)), found.secret


def _is_scrubbed(secret: str) -> bool:
    """Return whether a value is a placeholder, also with characters around it."""
    plain = "".join(filter(str.isalnum, secret))
    return plain.startswith("REDA") or "REDACTED" in secret or is_placeholder(secret)


_IDS = ACCOUNTS - {"e-mail address"}


class _ConcatenatedTexts:
    """Concatenates many short texts, so that each detector runs only once."""

    def __init__(self, texts: list[Reading]) -> None:
        unique = list({read.text: read for read in texts}.values())
        self._paths = [read.path for read in unique]
        self._starts: list[int] = []
        at = 0
        for read in unique:
            self._starts.append(at)
            at += len(read.text) + 2
        self.text = "\n\n".join(read.text for read in unique)

    def path_at(self, at: int) -> str:
        return self._paths[max(bisect_right(self._starts, at) - 1, 0)] if self._paths and at >= 0 else ""
