"""Files that hold a single body: the JSON of an answer, or the events of a stream in any framing."""

from __future__ import annotations

from toolparity.normalizer.detect import detect_body
from toolparity.normalizer.errors import AmbiguousBody, ToolparityError

from ..errors import UnreadableSource
from .http import is_stream
from .model import Exchange


def exchange(source: str, line: int | None, body: bytes, wire: str | None = None) -> Exchange:
    """Read one body. ``wire``: its wire, if known. Raises UnreadableSource if the wire cannot be detected."""
    if not body.strip():
        raise UnreadableSource("the file is empty but for white space" if body else "the file is empty")
    if wire is None:
        try:
            wire = detect_body(body)
        except AmbiguousBody as error:
            fits = f"a body that could be {' or '.join(error.candidates)}" if error.candidates else ""
            raise UnreadableSource(
                fits or "no traffic: it fits no wire that is known", hint="tell it with --wire"
            ) from None
        except (ToolparityError, ValueError, RecursionError):
            raise UnreadableSource("no traffic: neither a body nor a stream of events") from None
    return Exchange(source=source, line=line, wire=wire, stream=is_stream(body, None), body=body)
