"""The scrubber: vcrpy's two hooks, and a pass over a whole cassette before it is written.

    scrubber = Scrubber()
    with vcr.use_cassette(path, before_record_request=scrubber.before_record_request,
                          before_record_response=scrubber.before_record_response):
        ...
    scrubber.report.counts     # {"header": 14, "e-mail address": 2, …}: kinds and numbers, never a value

The hooks also run during replay, on requests and recorded responses: scrubbing again changes nothing. Use one scrubber
per cassette. It searches all later traffic for the credentials found in headers and addresses.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from toolparity.normalizer import json_codec
from toolparity.turns.secrets.placeholder import is_placeholder, placeholder

from .. import structured
from . import addresses, allowed
from . import headers as header_rules
from . import known as known_values
from .allowed import AllowList
from .grpc_bodies import rewritten
from .known import KnownSecrets
from .layers import PlainText, SearchableText, spliced, unquoted
from .texts import TextScrubber

_HOST = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/?#@]*@)?(?P<it>[^/?#@]+)", re.IGNORECASE)

_SCHEMES = frozenset({"bearer", "basic", "token", "apikey", "digest"})

#: Members of a response that hold headers.
_HEADER_MEMBERS = frozenset({"headers", "trailers", "trailing_metadata", "initial_metadata", "metadata"})


@dataclass(frozen=True)
class ScrubReport:
    """Number of replacements and removals by kind. Each encoding of a secret counts as a separate location."""

    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def __str__(self) -> str:
        return ", ".join(f"{kind}: {count}" for kind, count in sorted(self.counts.items())) or "nothing"


class Scrubber:
    """Scrubs the interactions of one cassette.

    ``environ``: the source of the keys to search for by value (default: the process's). ``keep_headers``: names to keep
    in addition to the allow-list (`headers.KEPT`). ``drop_headers``: drop all headers but those; otherwise every header
    stays, and those with credentials or ids of the account get placeholders. ``allow``: values that only look like
    secrets, by default the allow-list of the project.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        keep_headers: Iterable[str] = (),
        drop_headers: bool = True,
        allow: AllowList | None = None,
    ) -> None:
        self._drops = drop_headers
        self._known = KnownSecrets(known_values.from_environment(os.environ if environ is None else environ))
        self._allow = allowed.of_project() if allow is None else allow
        self._texts = TextScrubber(self._known, self._allow)
        self._keep = frozenset(name.lower() for name in keep_headers)

    @property
    def report(self) -> ScrubReport:
        """The counts so far."""
        return ScrubReport(dict(self._texts.counts))

    def before_record_request(self, request: Any) -> Any:
        """vcrpy's hook. Changes and returns ``request``, which is vcrpy's own copy."""
        self._learn(request.uri, request.headers)
        with self._texts.learning():
            return self._hooked(request)

    def _hooked(self, request: Any) -> Any:
        request.uri = self.uri(request.uri)
        if structured.is_structured(request.body):
            request.body = self._structured(request.body)
            request.headers = self.headers(request.headers)
            return request
        body = _read(request.body)
        if body is not None:
            scrubbed = self.body(body)
            if scrubbed != body or not isinstance(request.body, bytes):
                request.body = scrubbed
        request.headers = self.headers(request.headers, len(request.body or b""))
        return request

    def before_record_response(self, response: dict[str, Any]) -> dict[str, Any]:
        """vcrpy's hook. Returns a new response."""
        self.learn_from(response)
        return self._part(response)

    def cassette(self, cassette: Mapping[str, Any]) -> dict[str, Any]:
        """Scrub a cassette before it is written: vcrpy's ``{"requests", "responses", …}``, or the form in a file.

        Metadata is scrubbed as well. The given cassette is not changed.
        """
        out: dict[str, Any] = dict(cassette)
        interactions = out.get("interactions") or []
        for request in [*(out.get("requests") or []), *(each["request"] for each in interactions)]:
            self._learn(*((request["uri"], request["headers"]) if isinstance(request, Mapping) else _address(request)))
        for response in [*(out.get("responses") or []), *(each["response"] for each in interactions)]:
            self.learn_from(response)
        for name, value in out.items():
            if name == "requests":
                out[name] = [self._request(request) for request in value]
            elif name == "responses":
                out[name] = [self._part(response) for response in value]
            elif name == "interactions":
                out[name] = [
                    {
                        **{
                            key: self._other(value) for key, value in each.items() if key not in ("request", "response")
                        },
                        "request": self._request(each["request"]),
                        "response": self._part(each["response"]),
                    }
                    for each in value
                ]
            else:
                out[name] = self._other(value)
        return out

    def headers(self, headers: Mapping[Any, Any], content_length: int | None = None) -> dict[Any, Any]:
        """Filter headers or metadata by the allow-list, and scrub their values."""
        out: dict[Any, Any] = {}
        for name, value in headers.items():
            if self._drops and not header_rules.is_kept(str(name), self._keep):
                self._texts.counts["header"] += 1
            elif not self._drops and header_rules.is_replaced(str(name)):
                masked = [self.credential(one, str(name)) for one in (value if isinstance(value, list) else [value])]
                out[name] = masked if isinstance(value, list) else masked[0]
            elif str(name).lower() == "content-length" and content_length is not None:
                out[name] = [str(content_length)] if isinstance(value, list) else str(content_length)
            elif str(name).lower() == "location":
                out[name] = [self.uri(str(v)) for v in value] if isinstance(value, list) else self.uri(str(value))
            else:
                out[name] = self._other(value)
        return out

    def uri(self, uri: str) -> str:
        """Scrub an address: credentials in its authority part, and query members with secret names."""
        source = PlainText(uri)
        for span in addresses.credentials(uri):
            view: SearchableText = spliced(source, [span])
            view = unquoted(view) or view
            if not is_placeholder(view.text) and not self._allow.allows(view.text):
                self._texts.counts["credentials in a URL"] += 1
                view.write(0, placeholder(view.text))
        return _with_host(self._texts.text(source.text), uri)

    def credential(self, value: Any, name: str = "") -> Any:
        """Replace the value of a header that carries a credential, except its scheme (``Bearer``)."""
        if not isinstance(value, str | bytes):
            return value
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        scheme, blank, rest = text.partition(" ")
        secret = rest if scheme.lower() in _SCHEMES and rest else text
        if not secret or header_rules.is_masked(secret, name) or is_placeholder(secret) or self._allow.allows(secret):
            return value
        self._texts.counts["header"] += 1
        new = (scheme + blank if secret is rest else "") + placeholder(secret)
        return new.encode("latin-1") if isinstance(value, bytes) else new

    def text(self, text: str) -> str:
        """Scrub a text."""
        return self._texts.text(text)

    def learn(self, uri: str, headers: Mapping[Any, Any]) -> None:
        """Search all later traffic for the credentials in an address and headers."""
        self._learn(uri, headers)

    def learn_from(self, response: Mapping[str, Any]) -> None:
        """Search all later traffic for the credentials in a response's headers, as cookies and the account's name."""
        for name, value in response.items():
            if name in _HEADER_MEMBERS and isinstance(value, Mapping):
                self._known.add(header_rules.credentials_in(value, self._keep), "credential of the response")

    def body(self, body: bytes) -> bytes:
        """Scrub the bytes of a request or response body."""
        return self._texts.body(rewritten(body, self._texts.messages))

    def _learn(self, uri: str, headers: Mapping[Any, Any]) -> None:
        values = header_rules.credentials_in(headers, self._keep)
        if self._drops:  # otherwise a harmless header would get another value
            values += header_rules.unnamed_credentials(headers)
        for start, end in addresses.credentials(uri):
            text = unquote(uri[start:end])
            values.append(text.partition(":")[2] if uri[end : end + 1] == "@" else text)
        self._known.add(values, "credential of the request")

    def _request(self, request: Any) -> Any:
        if not isinstance(request, Mapping):
            body = request.body if structured.is_structured(request.body) else _read(request.body)
            copy = type(request)(request.method, request.uri, body, dict(request.headers))
            return self.before_record_request(copy)
        with self._texts.learning():
            return {**self._part(request), "uri": self.uri(str(request["uri"]))}

    def _structured(self, body: Any) -> Any:
        encoded = json_codec.encode(structured.plain(body))
        return structured.restored(json_codec.decode(self.body(encoded)), body)

    def _part(self, part: Mapping[str, Any]) -> dict[str, Any]:
        """Scrub a request or response in the form of a mapping."""
        out: dict[str, Any] = {}
        length: int | None = None
        if "body" in part:
            out["body"] = self._spelled_body(part["body"])
            length = _length(out["body"]) if out["body"] != part["body"] else None
        for name, value in part.items():
            if name in _HEADER_MEMBERS and isinstance(value, Mapping):
                out[name] = self.headers(value, length if name == "headers" else None)
            elif name not in ("body", "uri"):
                out[name] = self._other(value)
        return {name: out[name] for name in part if name in out}

    def _spelled_body(self, body: Any) -> Any:
        if isinstance(body, bytes):
            return self.body(body)
        if isinstance(body, str):
            return self.body(body.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        if isinstance(body, Mapping):
            return {
                name: _to_base64(self.body(_from_base64(value)))
                if name == "base64_string" and value is not None
                else self._spelled_body(value)
                for name, value in body.items()
            }
        return body

    def _other(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._texts.text(value)
        if isinstance(value, bytes):
            return self._texts.body(value)
        if isinstance(value, Mapping):
            return {self._other(name): self._other(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self._other(item) for item in value]
        return value


def _with_host(scrubbed: str, uri: str) -> str:
    """Restore the host of ``uri``, which replay needs. The scanner refuses a host that is a secret."""
    host = _HOST.match(uri)
    if host is None or len(scrubbed) != len(uri):
        return scrubbed
    start, end = host.span("it")
    return scrubbed[:start] + uri[start:end] + scrubbed[end:]


def _address(request: Any) -> tuple[str, Mapping[Any, Any]]:
    return request.uri, request.headers


def _read(body: Any) -> bytes | None:
    """Return a request's body as bytes. vcrpy passes text, bytes, files and iterators."""
    if body is None or isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    if hasattr(body, "read"):
        return _read(body.read())
    return b"".join(_read(chunk) or b"" for chunk in body)


def _length(body: Any) -> int | None:
    if isinstance(body, Mapping):
        return _length(body.get("string"))
    if isinstance(body, str):
        return len(body.encode("utf-8", "surrogatepass"))
    return len(body) if isinstance(body, bytes) else None


def _from_base64(text: Any) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError, TypeError):
        return b""


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
