"""Independent reading of the parts of the user's messages and of the tool choice, one for every wire.

A form is JSON in which ``$name`` is a hole. A member whose name ends with ``?`` may be missing; no other member may be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

from toolparity.cassettes.stated import PLACES

from . import Json
from .history import conversation, holds_result, role_of

_DATA = "data:$type;base64,$data"
_IMAGE_URL = [
    {"type": "image_url", "image_url": {"url": _DATA, "detail?": "$detail"}},
    {"type": "image_url", "image_url": {"url": "$url", "detail?": "$detail"}},
]
_SOURCES = [{"type": "base64", "media_type": "$type", "data": "$data"}, {"type": "url", "url": "$url"}]
_GOOGLE = [{"mime_type?": "$type", "data": "$data"}, {"mime_type?": "$type", "uri": "$url"}]
#: Wire -> the forms of an image and of a document.
_FORMS: dict[str, dict[str, list[Any]]] = {
    "openai.chat": {
        "image": _IMAGE_URL,
        "document": [{"type": "file", "file": {"filename": "$name", "file_data": _DATA}}],
    },
    "openai.responses": {
        "image": [{"type": "input_image", "image_url": url, "detail?": "$detail"} for url in (_DATA, "$url")],
        "document": [
            {"type": "input_file", "filename": "$name", "file_data": _DATA},
            {"type": "input_file", "file_url": "$url"},
        ],
    },
    "anthropic.messages": {
        kind: [{"type": kind, "source": source, "title?": "$name"} for source in _SOURCES]
        for kind in ("image", "document")
    },
    "xai.grpc": {
        "image": [{"image_url": {"image_url": url, "detail?": "DETAIL_$detail"}} for url in (_DATA, "$url")],
        "document": [
            {"file": {"filename?": "$name", "mime_type?": "$type", "data": "$data"}},
            {"file": {"filename?": "$name", "mime_type?": "$type", "url": "$url"}},
        ],
    },
    "google.gemini": {
        "": [
            {"inlineData": {"mimeType": "$type", "data": "$data"}},
            {"fileData": {"mimeType?": "$type", "fileUri": "$url"}},
        ]
    },
    "google.interactions": {kind: [{"type": kind, **form} for form in _GOOGLE] for kind in ("image", "document")},
    "bedrock.converse": {
        "image": [{"image": {"format": "$format", "source": {"bytes": "$data"}}}],
        "document": [{"document": {"format": "$format", "name": "$name", "source": {"bytes": "$data"}}}],
    },
    "cohere.chat": {"image": _IMAGE_URL},
    "ollama.chat": {"image": ["$data"]},
}
#: The forms of a tool choice on all wires.
_CHOICES = [
    "$word",
    {"type": "$word", "disable_parallel_tool_use?": "$flag"},
    {"type": "tool", "name": "$name", "disable_parallel_tool_use?": "$flag"},
    *({"type": kind, "name": "$name"} for kind in ("function", "custom")),
    *({"type": kind, kind: {"name": "$name"}} for kind in ("function", "custom")),
    *({name: "$name"} for name in ("mode", "function_name")),
    {"mode": "ANY", "allowedFunctionNames": ["$name"]},
    {"allowed_tools": {"mode": "any", "tools": ["$name"]}},
    {"tool": {"name": "$name"}},
    {"auto": {}},
    {"any": {}},
]
#: Hole -> what it accepts; the others accept any text.
_HOLES = {"type": "[^;]+", "url": "[a-z][a-z0-9+.-]*://.+"}


class Medium(NamedTuple):
    """An image or a document. ``stated``: what its wire states of it. ``sayable``: what it can state in this form.

    ``kind``: "" if the wire does not state it.
    """

    kind: str
    stated: Json
    sayable: frozenset[str]

    @property
    def name(self) -> str:
        """The name of `stated.PLACES`."""
        return self.kind + "_url" * ("url" in self.stated)


#: A note instead of media that a wire cannot state, and how it is compared.
NOTE = re.compile(r"\[(image|file|document)\b[^\]]*\]\s*")
_REPLACED = Medium("note", {}, frozenset())


def changed_parts(request: Json, source: str, body: Json, wire: str) -> list[tuple[Any, Any]]:
    """Return the texts and media of the user that another request has differently, each with what it has instead.

    A note replaces media that its wire cannot state. Messages without media, and with other parts, are not compared.
    """
    wanted, got, places = user_parts(request, source), user_parts(body, wire), PLACES.get(wire, {})
    if {type(part) for part in wanted} not in ({Medium}, {Medium, str}):
        return []
    wanted = [_REPLACED if isinstance(part, Medium) and part.name not in places else part for part in wanted]
    got = [each for part in got for each in (_with_notes(part) if isinstance(part, str) else [part])]
    if any("$data" in forms for forms in _FORMS[wire].values()):
        wanted, got = (sorted(parts, key=lambda part: not isinstance(part, Medium)) for parts in (wanted, got))
    return [pair for pair in zip_longest(wanted, got) if not _is_carried(*pair)]


def _with_notes(text: str) -> list[Any]:
    """Return the notes before a text, and the text."""
    notes: list[Any] = []
    while note := NOTE.match(text):
        notes, text = [*notes, _REPLACED], text[note.end() :]
    return [*notes, text] if text else notes


def _is_carried(part: Any, other: Any) -> bool:
    """Return whether a request has a part of another one, with everything that its form can state."""
    if not isinstance(part, Medium) or not isinstance(other, Medium):
        return bool(part == other)
    wanted = {name: value for name, value in part.stated.items() if name in other.sayable}
    if "format" in other.sayable and "name" in wanted:
        wanted["name"] = re.sub("[^a-zA-Z0-9()[\\]-]+", " ", wanted["name"])  # the characters that Bedrock accepts
    added = other.stated.keys() - wanted.keys()
    kinds = {part.kind, other.kind} - {""}
    same = all(other.stated.get(name) == value for name, value in wanted.items())
    return len(kinds) == 1 and same and not added & {"detail", "data", "url"}


def is_choice(choice: Any) -> bool:
    """Return whether a value has the form of a tool choice, or is None."""
    return choice is None or any(_filled(form, choice) is not None for form in _CHOICES)


def changed_format(request: Json, source: str, body: Json, wire: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name and the strictness of the schema of the answer, in a request and in another one.

    If the first request has no name, the writer of the other one may choose one.
    """
    (asked, _), (stated, sayable) = _format(request, source), _format(body, wire)
    if asked is None or stated is None:
        return
    if "name" in sayable and "name" in asked:
        yield "the name of the schema of the answer", asked["name"], stated.get("name")
    if "strict" in sayable:
        yield "whether the answer is strict", bool(asked.get("strict")), bool(stated.get("strict"))


def _format(body: Json, wire: str) -> tuple[Json | None, Json]:
    """Return the object that holds the schema of the answer, or None, and what it has beside the schema."""
    if (place := PLACES.get(wire, {}).get("format")) is None:
        return None, {}
    held: Any = body
    beside: Any = place.beside
    for key in place.path.split(".")[:-1]:
        held, beside = (each.get(key) if isinstance(each, dict) else None for each in (held, beside))
    return held, beside or {}


def user_parts(body: Json, wire: str) -> list[Any]:
    """Return the texts and the media of the user, in order; a part that is neither as it is.

    On a wire that has media beside the text of a message they come first.
    """
    found: list[Any] = []
    for item in conversation(body)[1]:
        if role_of(item) != "user":
            continue
        found += [_medium(image, wire) for image in item.get("images") or []]
        content = item.get("content", item.get("parts")) or []
        parts = content if isinstance(content, list) else [{"text": content}]
        said = (part for part in parts if not holds_result(part))
        found += [part["text"] if isinstance(part.get("text"), str) else _medium(part, wire) for part in said]
    return found


def _medium(part: Any, wire: str) -> Any:
    for kind, forms in _FORMS.get(wire, {}).items():
        for form in forms:
            if (stated := _filled(form, part)) is None:
                continue
            if format := stated.pop("format", ""):
                stated["type"] = f"{'image' if kind == 'image' else 'application'}/{format}"
            if str(stated.get("detail")).lower() == "auto":
                del stated["detail"]  # the default
            by_type = "" if "type" not in stated else "image" if stated["type"].startswith("image/") else "document"
            sayable = frozenset(re.findall(r"\$(\w+)", json.dumps(form)))
            return Medium(kind or by_type, stated, sayable | {"type"} if "format" in sayable else sayable)
    return part


def _filled(form: Any, value: Any) -> Json | None:
    """Return the values in the holes of a form, or None if a value does not have the form."""
    if isinstance(form, str):
        pattern = re.sub(r"\\\$(\w+)", lambda hole: f"(?P<{hole[1]}>{_HOLES.get(hole[1], '.+')})", re.escape(form))
        found = re.fullmatch(pattern, value, re.DOTALL) if isinstance(value, str) else None
        return {"flag": value} if form == "$flag" and isinstance(value, bool) else found and found.groupdict()
    if isinstance(form, list):
        same = isinstance(value, list) and len(value) == len(form)
        pairs = list(zip(form, value, strict=True)) if same else [(form, None)]
        return _joined([_filled(*pair) for pair in pairs]) if same else None
    names = {name.rstrip("?"): name for name in form}
    if not isinstance(value, dict) or value.keys() - names.keys():
        return None
    return _joined(
        [
            _filled(form[key], value[name]) if name in value else {} if key.endswith("?") else None
            for name, key in names.items()
        ]
    )


def _joined(found: list[Json | None]) -> Json | None:
    return None if None in found else {name: value for each in found if each for name, value in each.items()}
