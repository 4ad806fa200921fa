"""The wires: one package each, in one shape.

A wire offers ``decode(body, context) -> Response`` for a whole body and ``Stream(context)`` with
``event(name, data, out)`` and ``finish() -> Response`` for a streamed one. They are imported when first used, so that
`import toolparity` stays light. Adding one is a package beside these and a line in the table.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import UnknownWire

WIRES: dict[str, str] = {
    "openai.chat": "openai_chat",
    "openai.responses": "openai_responses",
    "anthropic.messages": "anthropic_messages",
    "xai.grpc": "xai_grpc",
}

#: Whose format a wire is: who is meant where no provider is told.
HOME: dict[str, str] = {
    "openai.chat": "openai",
    "openai.responses": "openai",
    "anthropic.messages": "anthropic",
    "xai.grpc": "xai",
}

_loaded: dict[str, Any] = {}


def wire(name: str) -> Any:
    """The package of a wire. Raises UnknownWire."""
    try:
        return _loaded[name]
    except (KeyError, TypeError):
        return _load(name)


def _load(name: str) -> Any:
    package = WIRES.get(name) if isinstance(name, str) else None
    if package is None:
        raise UnknownWire(f"no wire is called {name!r}", hint=f"one of {', '.join(WIRES)}")
    _loaded[name] = import_module(f".{package}", __name__)
    return _loaded[name]
