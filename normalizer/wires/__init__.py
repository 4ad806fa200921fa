"""Registry of the wires, the API formats that Toolparity reads and writes.

Each wire is a package with the same interface: ``decode(body, context) -> Response`` for a complete body, and
``Stream(context)`` with ``event(name, data, out)`` and ``finish() -> Response`` for a streamed one. A package is
imported on first use, which keeps `import toolparity` fast. A new wire needs a package here, an entry in `WIRES` and
its name in `model.Wire`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import UnknownWire
from ..model import Wire

WIRES: dict[Wire, str] = {
    "openai.chat": "openai_chat",
    "openai.responses": "openai_responses",
    "anthropic.messages": "anthropic_messages",
    "xai.grpc": "xai_grpc",
}

#: The provider that defines each wire. It is the default where the caller specifies no provider.
HOME: dict[Wire, str] = {
    "openai.chat": "openai",
    "openai.responses": "openai",
    "anthropic.messages": "anthropic",
    "xai.grpc": "xai",
}

_loaded: dict[str, Any] = {}


def wire_name(name: str) -> Wire:
    """Return a name that comes from outside as the name of a wire. Raises UnknownWire if no wire has this name."""
    for known in WIRES:
        if known == name:
            return known
    raise UnknownWire(f"unknown wire: {name!r}", hint=f"one of {', '.join(WIRES)}")


def wire(name: str) -> Any:
    """Return the package of a wire, and import it on first use. Raises UnknownWire if no wire has this name."""
    try:
        return _loaded[name]
    except (KeyError, TypeError):
        return _load(name)


def _load(name: str) -> Any:
    package = WIRES[wire_name(name)]
    _loaded[name] = import_module(f".{package}", __name__)
    return _loaded[name]
