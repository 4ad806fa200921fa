"""The formats of sessions."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, NamedTuple

from ..errors import UnknownWire
from ..model import Wire


class SessionFormat(NamedTuple):
    """One format. ``wire``: the wire whose decoder does the work. ``path``: pattern for the paths of its addresses."""

    name: str
    wire: Wire
    module: str
    path: str

    @property
    def format(self) -> Any:
        """The class ``Format`` of its module."""
        return import_module(f".{self.module}", __package__).Format


#: The formats by name. The first whose messages match is that of a session without an address.
SESSIONS: dict[str, SessionFormat] = {
    each.name: each
    for each in (
        SessionFormat("openai.realtime", "openai.responses", "openai_realtime", r"/realtime$"),
        SessionFormat(
            "google.live",
            "google.gemini",
            "google_live",
            r"(GenerativeService\.|LlmBidiService/)BidiGenerateContent(Constrained)?$",
        ),
        SessionFormat("openai.responses", "openai.responses", "openai_responses", r"/responses$"),
    )
}


def session_format(name: str) -> SessionFormat:
    """Return the format with this name. Raises UnknownWire."""
    if name not in SESSIONS:
        raise UnknownWire(f"unknown format of sessions: {name!r}", hint=f"one of {', '.join(SESSIONS)}")
    return SESSIONS[name]


def format_at(path: str) -> str | None:
    """Return the name of the format whose sessions have this path, or None."""
    return next((each.name for each in SESSIONS.values() if re.search(each.path, path)), None)


def format_of(message: Any) -> str | None:
    """Return the name of the format that a message of a session shows, or None."""
    if not isinstance(message, dict):
        return None
    return next((each.name for each in SESSIONS.values() if each.format.claims(message)), None)
