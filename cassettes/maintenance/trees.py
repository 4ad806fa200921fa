"""Scrubbing of the plain data of a cassette in any format. The result has the same shape: only strings differ.

Addresses, headers and bodies are recognized by the names that cassette formats use for them, so that a format needs no
code here. Credentials are learned from the whole file first: a key in the headers of one interaction is also replaced
in the body of another one, and equal secrets get equal placeholders.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from toolparity.normalizer import json_codec

from ..secrets import Scrubber
from .broken_keys import without_tails

_HEADERS = frozenset({"headers", "request_headers", "response_headers", "trailers", "metadata", "initial_metadata"})
_PAIRS = frozenset({"headers", "cookies", "queryString", "params"})
_ADDRESSES = frozenset({"uri", "url", "redirectURL", "href"})
_BODIES = frozenset({"body", "string", "text", "content"})
_BASE64 = frozenset({"base64_string", "body_blob", "serialized", "request_body", "response_body"})
#: Members with a parsed JSON body.
_PARSED = frozenset({"parsed_body", "body_json", "request_json"})
_LENGTH = "content-length"


class TreeScrubber:
    """Scrubs the data of one file."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._scrubber = Scrubber(environ, drop_headers=False)

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of replacements by kind."""
        return self._scrubber.report.counts

    def scrub(self, data: Any) -> Any:
        """Return the data without secrets. The given data is not changed."""
        for uri, headers in _learned(data):
            self._scrubber.learn(uri, headers)
        return self._value(data, "")

    def _value(self, value: Any, name: str) -> Any:
        if isinstance(value, str):
            return self._string(value, name)
        if isinstance(value, bytes):
            return self._scrubber.body(value)
        if isinstance(value, list):
            if name in _PAIRS and value and all(_is_pair(pair) for pair in value):
                return [self._pair(pair, name) for pair in value]
            return [self._value(item, name if name in _BASE64 else "") for item in value]
        if isinstance(value, dict):
            if name in _HEADERS and all(isinstance(one, str | list | bytes) for one in value.values()):
                return self._scrubber.headers(value)
            if name in _PARSED or (name == "content" and not isinstance(value.get("text", ""), str)):
                return self._json(value)
            return self._mapping(value)
        return value

    def _mapping(self, value: dict[str, Any]) -> dict[str, Any]:
        out = {}
        for name, member in value.items():
            packed = name in ("text", "body") and "base64" in (value.get("encoding"), value.get("body_encoding"))
            if packed and isinstance(member, str):
                out[name] = self._packed(member)
            elif name == "content" and value.get("type") == "binary" and _is_hex(member):
                out[name] = self._scrubber.body(bytes.fromhex(member)).hex()
            elif _is_json(name, member, value):
                out[name] = self._json(member)
            else:
                out[name] = self._value(member, name)
        return _with_length(value, out)

    def _string(self, text: str, name: str) -> str:
        if name in _ADDRESSES:
            return self._scrubber.uri(text)
        if name in _BASE64:
            return self._packed(text)
        if name in _BODIES:
            body = self._scrubber.body(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
            return without_tails(text, body)
        return without_tails(text, self._scrubber.text(text))

    def _packed(self, text: str) -> str:
        """Scrub base64. Its line breaks stay if the result has the same length."""
        try:
            data = base64.b64decode(text, validate=False)
        except (binascii.Error, ValueError):
            return self._scrubber.text(text)
        scrubbed = self._scrubber.body(data)
        if scrubbed == data:
            return text
        letters = base64.b64encode(scrubbed).decode()
        broken = [at for at, char in enumerate(text) if char in "\r\n"]
        if len(letters) + len(broken) != len(text):
            return letters
        spelled = list(letters)
        for at in broken:
            spelled.insert(at, text[at])
        return "".join(spelled)

    def _json(self, value: Any) -> Any:
        """Scrub parsed JSON as the text that it came from, because the names of members mark secrets."""
        text = json_codec.text(value)
        scrubbed = self._scrubber.body(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        return value if scrubbed == text else json_codec.decode(scrubbed.encode("utf-8", "surrogatepass"))

    def _pair(self, pair: dict[str, Any], name: str) -> dict[str, Any]:
        """Scrub one of HAR's headers, cookies or parameters."""
        key, value = str(pair["name"]), str(pair["value"])
        if name == "headers":
            new = self._scrubber.headers({key: value})[key]
        elif name == "cookies":
            new = self._scrubber.credential(value)
        else:
            new = self._scrubber.uri(f"?{key}={value}")[len(key) + 2 :]
        return {**pair, "value": new} if new != value else pair


def _with_length(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Correct the content length where compressed data became longer or shorter."""
    headers, body = new.get("headers"), new.get("body")
    if body == old.get("body") or not isinstance(headers, dict):
        return new
    before, after = _length(old["body"]), _length(body)
    if before is None or after is None or before == after:
        return new
    fixed = {
        name: ([str(after)] if isinstance(value, list) else str(after)) if name.lower() == _LENGTH else value
        for name, value in headers.items()
    }
    return {**new, "headers": fixed}


def _length(body: Any) -> int | None:
    if isinstance(body, dict):
        if isinstance(body.get("base64_string"), str):
            return len(base64.b64decode(body["base64_string"]))
        return _length(body.get("string"))
    if isinstance(body, str):
        return len(body.encode("utf-8", "surrogatepass"))
    return len(body) if isinstance(body, bytes) else None


def _is_hex(member: Any) -> bool:
    try:
        return bool(bytes.fromhex(member))
    except (TypeError, ValueError):
        return False


def _is_json(name: str, member: Any, beside: dict[str, Any]) -> bool:
    """Return whether a member is the JSON of cassetter's body, or of a recording's request."""
    of_recording = name == "request" and isinstance(member, dict) and "body" in beside
    return of_recording or (name == "content" and beside.get("type") == "json")


def _is_pair(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str) and isinstance(value.get("value"), str)


def _learned(data: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every address, and the headers beside it."""
    stack = [data]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += value
        if not isinstance(value, dict):
            continue
        stack += value.values()
        uri = next((value[name] for name in _ADDRESSES if isinstance(value.get(name), str)), "")
        for name in _HEADERS:
            headers = value.get(name)
            if isinstance(headers, list) and all(_is_pair(pair) for pair in headers):
                headers = {pair["name"]: pair["value"] for pair in headers}
            if isinstance(headers, dict):
                yield uri, headers
        if uri:
            yield uri, {}
