"""Records exchanges in a worker process, scrubbed by the rules of recordings: as JSON lines, or as cassettes.

A WebSocket session is one line of JSON, in a folder of cassettes in a separate file:

    {"wire": "websocket", "url", "messages": [{"direction", "type", "size", "text", "code"}, …], "omitted", …}
"""

from __future__ import annotations

import base64
import os
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from toolparity import __version__
from toolparity.cassettes import emulation_marker
from toolparity.cassettes.errors import SecretsLeft, UnreadableSource
from toolparity.cassettes.library.files import file_for
from toolparity.cassettes.library.interactions import interaction, trimmed
from toolparity.cassettes.library.provenance import Provenance
from toolparity.cassettes.library.writing import save, scanned, scrubbed
from toolparity.cassettes.secrets import refuse
from toolparity.cassettes.sources import WEBSOCKET
from toolparity.cassettes.sources.endpoints import classify
from toolparity.cassettes.sources.recorders import exchange as scrubbed_exchange
from toolparity.normalizer import json_codec
from toolparity.normalizer.errors import MalformedBody
from toolparity.normalizer.wires.registry import is_wire

from .copies import ExchangeCopy, SessionCopy
from .headers import text_lists, value_of
from .judge import read
from .messages import Message, as_stream, read_messages, replace_texts
from .redaction import Redactor

#: The result for one exchange. "unknown-wire": not an exchange of a supported wire. "unreadable": its body is damaged,
#: or is not a response. "emulated": a response of our own servers, which must not become a cassette of a provider.
#: "secrets-left": the scanner found a secret after scrubbing. "not-written": the disk refused it. "session-recorded": a
#: WebSocket session.
Recorded = Literal[
    "recorded", "session-recorded", "unknown-wire", "unreadable", "emulated", "secrets-left", "not-written", "fault"
]
#: Response fields that do not describe a body that was unpacked and scrubbed.
_OF_THE_TRANSFER = frozenset(("content-encoding", "content-length", "transfer-encoding"))


class RecordOptions(Struct, frozen=True):
    """Where to record: a file of JSON lines (`.jsonl` or `.ndjson`), or else a folder of cassettes."""

    path: str


class Recorder:
    """Records exchanges. It does not raise."""

    def __init__(self, options: RecordOptions) -> None:
        path = Path(options.path)
        as_lines = path.suffix in (".jsonl", ".ndjson")
        self._write: Callable[[ExchangeCopy, dict[str, Any]], Recorded]
        self._write = _LinesFile(path).write if as_lines else _CassetteFolder(path).write
        self._sessions = _LinesFile(path if as_lines else path / "websocket.jsonl")
        self._redactor = Redactor()

    def __call__(self, copy: ExchangeCopy) -> Recorded:
        try:
            if copy.session is not None:
                return self._session(copy, copy.session)
            exchange = read(copy)
            if not is_wire(exchange.wire) or exchange.method != "POST":
                return "unknown-wire"
            raw = interaction(exchange)
            raw["response"]["headers"] = text_lists(copy.response_headers)  # they may show secrets of the bodies
            clean = self._redactor.interaction(raw)
            headers = clean["response"]["headers"]
            clean["response"]["headers"] = {n: value for n, value in headers.items() if n not in _OF_THE_TRANSFER}
            return self._write(copy, clean)
        except (UnreadableSource, MalformedBody):
            return "unreadable"
        except SecretsLeft:
            return "secrets-left"
        except OSError:
            return "not-written"
        except Exception:  # one exchange must not stop the others; the message may contain traffic
            return "fault"

    def _session(self, copy: ExchangeCopy, session: SessionCopy) -> Recorded:
        messages = list(read_messages(session, copy.response_headers))
        clean = self._redactor.interaction(
            {
                "request": {
                    "method": copy.method,
                    "uri": copy.url,
                    "headers": text_lists(copy.request_headers),
                    "body": as_stream(messages, "sent"),
                },
                "response": {
                    "headers": text_lists(copy.response_headers),
                    "body": {"string": as_stream(messages, "received")},
                },
            }
        )
        refuse({"interactions": [trimmed(clean)]}, where=os.fspath(self._sessions.path))
        replace_texts(messages, "sent", clean["request"]["body"])
        replace_texts(messages, "received", clean["response"]["body"]["string"])
        self._sessions.add(_session_row(copy, session, clean["request"]["uri"], messages))
        return "session-recorded"


class _LinesFile:
    """A file of JSON lines, to which exchanges are added."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, copy: ExchangeCopy, clean: dict[str, Any]) -> Recorded:
        refuse({"interactions": [clean]}, where=os.fspath(self.path))
        self.add(_row(copy, clean))
        return "recorded"

    def add(self, row: dict[str, Any]) -> None:
        """Add a line, or nothing. Raises OSError."""
        line = json_codec.encode_line(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line  # the line of a recorder that was killed
            written = 0
            try:
                while written < len(line):  # a disk that is almost full takes a part without an error
                    written += file.write(line[written:]) or 0
            except OSError:
                if written and file.seek(0, os.SEEK_END) == size + written:
                    file.truncate(size)
                raise


def _session_row(copy: ExchangeCopy, session: SessionCopy, url: str, messages: list[Message]) -> dict[str, Any]:
    recorded = Counter(message.direction for message in messages if message.type != "close")
    return {
        "id": _id(copy),
        "provider": classify(url).provider,
        "wire": WEBSOCKET,
        "status": copy.status,
        "url": url,
        "messages": [msgspec.to_builtins(message) for message in messages],
        "omitted": {"sent": session.sent - recorded["sent"], "received": session.received - recorded["received"]},
        "complete": copy.ending == "complete",
    }


def _id(copy: ExchangeCopy) -> str:
    return f"{copy.started:.3f}-{copy.number}"


def _row(copy: ExchangeCopy, clean: dict[str, Any]) -> dict[str, Any]:
    exchange = scrubbed_exchange("", None, clean)
    body = exchange.body or b""
    packed = value_of(copy.response_headers, b"content-encoding") is not None
    try:
        content: dict[str, Any] = {"body": body.decode()}
    except UnicodeDecodeError:
        content = {"body": base64.b64encode(body).decode(), "body_encoding": "base64"}
    return {
        "id": _id(copy),
        "provider": exchange.provider,
        "wire": exchange.wire,
        "model": exchange.model,
        "stream": bool(exchange.stream),
        "status": copy.status,
        "content_type": exchange.content_type,
        "url": exchange.address,
        "request": exchange.request,
        **content,
        "chunk_lengths": None if packed else [len(chunk) for chunk in copy.chunks],
        "complete": copy.ending == "complete",
    }


class _CassetteFolder:
    """A library of cassettes, with one file for each exchange."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, copy: ExchangeCopy, clean: dict[str, Any]) -> Recorded:
        exchange = scrubbed_exchange("", None, clean)
        if emulation_marker.HEADER in clean["response"]["headers"]:
            return "emulated"
        started = datetime.fromtimestamp(copy.started, UTC)
        name = f"proxy-{started:%Y%m%dt%H%M%S}-{copy.number:06}"
        provider, wire = exchange.provider or "other", exchange.wire or ""
        provenance = Provenance(
            origin="imported",
            date=f"{started:%Y-%m-%dT%H:%M:%SZ}",
            provider=provider,
            wire=wire,
            stream=bool(exchange.stream),
            recorder=f"toolparity {__version__}",
            model=exchange.model and exchange.model.encode("utf-8", "backslashreplace").decode(),  # not all is UTF-8
            source="toolparity proxy",
        )
        path = file_for(provider, wire, name, bool(exchange.stream), self._root)
        save(path, [trimmed(clean)], provenance, checks=(scrubbed, scanned))
        return "recorded"
