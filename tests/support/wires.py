"""The wires for tests that take each of them, from the registry."""

from __future__ import annotations

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.wires.registry import WIRES as PACKAGES
from toolparity.normalizer.wires.registry import spec

WIRES = tuple(PACKAGES)
#: The wires that an emulated provider serves, and that have cassettes.
PLAYED_WIRES = tuple(wire for wire in WIRES if wire in SURFACES)
#: The wires that carry the arguments of calls as a text, at least in streams.
TEXT_WIRES = tuple(wire for wire in WIRES if wire not in ("google.gemini", "ollama.chat"))
#: The wires whose bodies and streams are bytes.
BYTE_WIRES = tuple(wire for wire in WIRES if spec(wire).framing == "bytes")
#: The wires whose streams are AWS event streams, JSON lines, and server-sent events.
EVENT_STREAM_WIRES = ("bedrock.converse",)
LINE_WIRES = ("ollama.chat",)
SSE_WIRES = tuple(wire for wire in BYTE_WIRES if wire not in (*EVENT_STREAM_WIRES, *LINE_WIRES))
#: The wires whose stream events are JSON in a text.
JSON_WIRES = (*SSE_WIRES, *LINE_WIRES)
#: The wires whose bodies and requests contain the arguments of calls as objects.
OBJECT_WIRES = tuple(wire for wire in WIRES if spec(wire).parsed_arguments)
