"""Recordings of Polly.js: HAR with an id and an order for each entry (@pollyjs/persister and @pollyjs/core 6).

Polly finds an entry by its id, the MD5 of what it compares of a request. The ids are those of Polly's defaults: method,
headers, body and address. With another `matchRequestsBy`, Polly does not find entries that were converted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

from . import har
from .members import nonempty, without
from .model import CassetteContent, Request, grouped

NAME = "polly"
SUFFIX = ".har"
items = har.items

#: What `write` adds. It is not kept when a file is read, because it is added again.
_ADDED = {"_recordingName": "converted", "pages": []}
_CREATOR = {"name": "Polly.JS", "version": "6.0.6", "comment": "persister:fs"}


def recognizes(data: Any) -> bool:
    """Return whether this is the top of a recording of Polly.js."""
    log = data.get("log") if isinstance(data, dict) else None
    return isinstance(log, dict) and isinstance(log.get("entries"), list) and "_recordingName" in log


def read(data: Any) -> CassetteContent:
    """Return the content of a parsed file. Raises UnreadableSource."""
    content = har.read(data, NAME)
    own = content.rest.get(NAME, {})
    content.rest = without(content.rest, NAME) | nonempty(
        NAME, {key: value for key, value in own.items() if {**_ADDED, "creator": _CREATOR}.get(key, ...) != value}
    )
    for interaction, added in zip(content.interactions, _ids(content), strict=True):
        own = interaction.rest.get(NAME, {})
        if added.items() <= own.items():
            interaction.rest = without(interaction.rest, NAME) | nonempty(NAME, without(own, *added))
    return content


def write(content: CassetteContent) -> bytes:
    """Return the text of a file. Raises UnreadableSource for what HAR cannot hold."""
    entries = [
        added | har.write_item(item, NAME) for item, added in zip(content.interactions, _ids(content), strict=True)
    ]
    log = {**_ADDED, "creator": _CREATOR, "version": "1.2", "entries": entries}
    return har.text_of(log, content, NAME)


def _ids(content: CassetteContent) -> Iterator[dict[str, Any]]:
    """Yield the id and the order of each interaction: equal requests are numbered from 0."""
    seen: dict[str, int] = {}
    for interaction in content.interactions:
        name = _id(interaction.request)
        yield {"_id": name, "_order": seen.get(name, 0)}
        seen[name] = seen.get(name, 0) + 1


def _id(request: Request) -> str:
    """Return what Polly calls the id of a request (PollyRequest._identify)."""
    identifiers: dict[str, Any] = {
        "headers": {name.lower(): values if len(values) > 1 else values[0] for name, values in _lower(request)},
        "method": request.method,
        "url": _address(request.uri),
    }
    if request.body:
        identifiers["body"] = request.body.decode("utf-8", "replace")
    text = json.dumps(identifiers, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _lower(request: Request) -> list[tuple[str, list[str]]]:
    return list(grouped([(name.lower(), value) for name, value in request.headers]).items())


def _address(uri: str) -> str:
    """Return an address as Polly compares it: the query sorted by names, without a fragment."""
    parts = urlsplit(uri)
    query = urlencode(sorted(parse_qs(parts.query, keep_blank_values=True).items()), doseq=True)
    return urlunsplit(parts._replace(query=query, fragment="", path=parts.path or "/"))
