"""The public names of `toolparity.normalizer.turns.log`. Needs the extra `log`, for PostgreSQL `postgres`."""

from ..normalizer.turns.log import CallRow, EventRow, KeptTurn, Log, Page, Recorder, upgrade

__all__ = ["CallRow", "EventRow", "KeptTurn", "Log", "Page", "Recorder", "upgrade"]
