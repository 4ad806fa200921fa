"""The public names of `toolparity.normalizer.turns.log`. Needs the extra `log`, for PostgreSQL `postgres`."""

from ..normalizer.turns.log import CallRow, EventRow, Log, LogObserver, Page, StoredTurn, TurnRow, upgrade

__all__ = ["CallRow", "EventRow", "TurnRow", "StoredTurn", "Log", "Page", "LogObserver", "upgrade"]
