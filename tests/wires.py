"""The wires for tests that take each of them, from the registry."""

from __future__ import annotations

from toolparity.normalizer.wires.registry import WIRES as PACKAGES
from toolparity.normalizer.wires.registry import spec

WIRES = tuple(PACKAGES)
#: The wires whose bodies and streams are bytes.
BYTE_WIRES = tuple(wire for wire in WIRES if spec(wire).framing == "bytes")
