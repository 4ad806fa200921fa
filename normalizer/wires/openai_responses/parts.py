"""Read and write the content parts of messages and outputs: text, images, files and audio."""

from __future__ import annotations

import re
from typing import Any

from ... import json_codec
from ...conversation import JsonPart, MediaPart, OpaquePart, Part, TextPart
from ..write_context import WriteContext, detail_of, merged, unrepresented

#: Key of `extra` under which readers keep the original spelling. It is not a member of the wire.
AS_WRITTEN = "as_written"
#: Types of text parts; this wire accepts `input_text` from a user.
_WORDS = frozenset(("input_text", "output_text", "text"))
_DATA_URL = re.compile(r"data:([^;,]*);base64,(.*)", re.DOTALL)
_SUFFIXES = {"application/pdf": ".pdf", "text/plain": ".txt", "text/csv": ".csv", "application/json": ".json"}
_FORMATS = {"mp3": "audio/mpeg", "wav": "audio/wav"}


def read_content(content: str | list[Any]) -> list[Part]:
    """Return the parts of a message's content, which is a string or a list."""
    if isinstance(content, str):
        return [TextPart(content)]
    return [read_part(part) for part in content]


def read_part(raw: Any) -> Part:
    """Return one part; a value that does not have a documented shape becomes an opaque part."""
    if not isinstance(raw, dict):
        return OpaquePart("", raw)
    kind = raw.get("type")
    if not isinstance(kind, str):
        return OpaquePart("", raw)
    if kind in _WORDS and isinstance(raw.get("text"), str):
        return TextPart(raw["text"], _rest(raw, "text") if kind != "input_text" else _rest(raw, "type", "text"))
    if kind in ("input_image", "computer_screenshot"):
        part = _image(raw)
    elif kind == "input_file":
        part = _file(raw)
    elif kind == "input_audio":
        part = _audio(raw)
    else:
        part = None
    return part or OpaquePart(kind, raw)


def _image(raw: dict[str, Any]) -> Part | None:
    url, id = raw.get("image_url"), raw.get("file_id")
    rest = _rest(raw, "type", "image_url", "file_id")
    if isinstance(url, str) and id is None:
        found = _DATA_URL.fullmatch(url)
        if found:
            return MediaPart("image", found[1], found[2], extra=rest)
        return MediaPart("image", url=url, extra=rest)
    return MediaPart("image", file_id=id, extra=rest) if isinstance(id, str) and url is None else None


def _file(raw: dict[str, Any]) -> Part | None:
    given = [m for m in ("file_data", "file_url", "file_id") if raw.get(m) is not None]
    name = raw.get("filename")
    if len(given) != 1 or not isinstance(raw[given[0]], str) or not (name is None or isinstance(name, str)):
        return None
    value = raw[given[0]]
    rest = _rest(raw, "type", "filename", "file_data", "file_url", "file_id")
    if given[0] == "file_url":
        return MediaPart("file", url=value, name=name, extra=rest)
    if given[0] == "file_id":
        return MediaPart("file", file_id=value, name=name, extra=rest)
    found = _DATA_URL.fullmatch(value)
    if found:
        return MediaPart("file", found[1], found[2], name=name, extra=rest)
    return MediaPart("file", data=value, name=name, extra=rest)


def _audio(raw: dict[str, Any]) -> Part | None:
    sound = raw.get("input_audio")
    if not isinstance(sound, dict) or sound.keys() != {"data", "format"} or not isinstance(sound["data"], str):
        return None
    kind = _FORMATS.get(sound["format"]) if isinstance(sound["format"], str) else None
    return MediaPart("audio", kind, sound["data"], extra=_rest(raw, "type", "input_audio")) if kind else None


def _rest(raw: dict[str, Any], *known: str) -> dict[str, Any]:
    return {k: v for k, v in raw.items() if k not in known and v is not None}


class Parts:
    """Writes the content parts of one request.

    ``native``: the request comes from this wire and provider. ``same_wire``: it comes from this wire.
    """

    def __init__(self, context: WriteContext, native: bool, same_wire: bool) -> None:
        self._context = context
        self._native = native
        self._same_wire = same_wire

    def content(self, parts: list[Part], plain: bool, turn: int) -> str | list[dict[str, Any]]:
        """Return a string for a single text or JSON part if ``plain``, else a list of parts. ``turn``: for losses."""
        if plain:
            if not parts:
                return ""
            if len(parts) == 1:
                part = parts[0]
                if type(part) is TextPart:
                    if part.extra and not self._same_wire and (lost := unrepresented(part.extra)):
                        self._context.lose("extra", f"{', '.join(lost)} of a text", turn)
                    return part.text
                if type(part) is JsonPart:
                    return json_codec.text(part.value)
        written = [self.part(part, turn) for part in parts]
        return [part for part in written if part is not None]

    def part(self, part: Part, turn: int) -> dict[str, Any] | None:
        """Return the wire form of one part; None if it has none."""
        if type(part) is TextPart:
            return self._own(part.extra, {"type": "input_text", "text": part.text}, turn)
        if type(part) is JsonPart:
            return self._own(part.extra, {"type": "input_text", "text": json_codec.text(part.value)}, turn)
        if type(part) is MediaPart:
            return self._media(part, turn)
        assert isinstance(part, OpaquePart)
        if self._same_wire and isinstance(part.raw, dict):
            return part.raw
        self._context.lose("opaque", f"a part of type {part.wire_type!r}", turn)
        return None

    def _own(self, extra: dict[str, Any], members: dict[str, Any], turn: int) -> dict[str, Any]:
        if not extra:
            return members
        if self._same_wire:
            return {**members, **extra}
        if lost := [key for key in unrepresented(extra) if key not in members]:
            self._context.lose("extra", f"{', '.join(lost)} of a part", turn)
        return members

    def _media(self, part: MediaPart, turn: int) -> dict[str, Any]:
        members: dict[str, Any] | None = None
        if part.file_id is not None and not self._native:
            why = "is known to its own provider alone"
        elif part.kind == "image":
            members = {"type": "input_image", **_place(part, "image_url", "image_url")}
            if not self._same_wire:
                return self._foreign_image(part.extra, members, turn)
            why = ""
        elif part.kind == "file":
            members = {"type": "input_file", **_place(part, "file_data", "file_url")}
            name = part.name
            if name is None and part.data is not None and not self._same_wire:
                name = "file" + _SUFFIXES.get(part.media_type or "", "")  # OpenAI rejects data without a name
            if name is not None:
                members["filename"] = name
            why = ""
        else:
            form = next((f for f, kind in _FORMATS.items() if kind == part.media_type), None)
            if part.kind == "audio" and part.data is not None and form and self._same_wire:
                members = {"type": "input_audio", "input_audio": {"data": part.data, "format": form}}
            why = "has no counterpart here"
        if members is None:
            self._context.lose("media", f"a part of kind {part.kind} ({part.media_type}) {why}", turn)
            return {"type": "input_text", "text": f"[{part.kind} left out: it {why}]"}
        return self._own(part.extra, members, turn)

    def _foreign_image(self, extra: dict[str, Any], members: dict[str, Any], turn: int) -> dict[str, Any]:
        detail = detail_of(extra)
        members["detail"] = detail if detail in ("low", "high") else "auto"
        carried = () if detail not in ("low", "high", "auto") else ("image_url", "detail")
        if lost := unrepresented(extra, *carried):
            self._context.lose("extra", f"{', '.join(lost)} of an image", turn)
        return members


def _place(part: MediaPart, data: str, url: str) -> dict[str, Any]:
    if part.data is not None:
        bare = part.media_type is None and part.kind == "file"
        return {data: part.data if bare else f"data:{part.media_type or ''};base64,{part.data}"}
    return {url: part.url} if part.url is not None else {"file_id": part.file_id}


def words(parts: list[Part]) -> str:
    """Return the text of the text and JSON parts, for members that accept only a string."""
    return "\n".join(
        part.text if isinstance(part, TextPart) else json_codec.text(part.value)
        for part in parts
        if isinstance(part, (TextPart, JsonPart))
    )


def screenshot(part: MediaPart) -> dict[str, Any]:
    """Return the output of a computer call."""
    return merged({"type": "computer_screenshot", **_place(part, "image_url", "image_url")}, part.extra)
