"""The wires for tests that take each of them, from the registry."""

from __future__ import annotations

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.wires.registry import WIRES as PACKAGES
from toolparity.normalizer.wires.registry import spec

WIRES = tuple(PACKAGES)
#: The wires that an emulated provider serves, and that have cassettes.
PLAYED_WIRES = tuple(wire for wire in WIRES if wire in SURFACES)
#: The wires that carry the arguments of calls as a text, at least in streams.
TEXT_WIRES = tuple(wire for wire in WIRES if wire != "google.gemini")
#: The wires whose bodies and streams are bytes.
BYTE_WIRES = tuple(wire for wire in WIRES if spec(wire).framing == "bytes")
