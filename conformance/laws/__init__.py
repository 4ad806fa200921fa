"""The laws. A law is a function with the decorator `law`, which yields a `Failure` for each violation.

To add one, write it in the module of its topic (or in a new one, listed in `_MODULES`), and add its id to `IDS`.
"""

from __future__ import annotations

from importlib import import_module

from .law import REGISTERED, Failure, Law

_MODULES = ("conservation", "selection", "content", "parity", "requests")
#: The ids, in the order of reports.
IDS = (
    "conservation",
    "order",
    "same-first",
    "dropped-warned",
    "server-side",
    "stream-parity",
    "any-split",
    "arguments",
    "stop",
    "incomplete",
    "unknown",
    "answered",
    "replay",
    "handoff",
    "alike",
    "usage",
)

for _module in _MODULES:
    import_module(f".{_module}", __name__)
LAWS: dict[str, Law] = {id: REGISTERED[id] for id in IDS}

__all__ = ["IDS", "LAWS", "Failure", "Law"]
