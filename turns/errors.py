"""Errors of turns and their log."""

from __future__ import annotations

from toolparity.normalizer.errors import ToolparityError


class InvalidTool(ToolparityError, ValueError):
    """A tool cannot be declared: its name is already in use, or its schema is not a JSON schema."""


class InvalidState(ToolparityError, ValueError):
    """A stored state cannot be resumed: it is not a state, comes from a later version, or contradicts the turn."""


class TurnMisused(ToolparityError, RuntimeError):
    """An operation is invalid in the current state of a turn, such as a second run."""


class CircuitOpen(ToolparityError, RuntimeError):
    """A tool or provider failed so often that its breaker rejects calls for a while."""

    hint_default = "the breaker allows another attempt after its waiting time"


class OutOfTime(ToolparityError, TimeoutError):
    """The time limit of a turn has expired."""


class PhaseVetoed(ToolparityError, RuntimeError):
    """A listener of an orchestrated turn prevented a request to the model."""


class TooManyAbandoned(ToolparityError, RuntimeError):
    """Too many threads still run abandoned tools, so no new one is started."""

    hint_default = "set timeouts inside blocking tools, so that they end"


class UnknownTurn(ToolparityError, LookupError):
    """The turn log contains no turn with this id, or none that can be resumed."""


class TurnHeld(ToolparityError, RuntimeError):
    """Another worker runs this turn or has taken it over: the caller must not continue it."""


class LogFailed(ToolparityError, OSError):
    """The database of a turn log cannot be opened, read or written."""


class NewerLog(LogFailed):
    """A later version of this program created the database, which was left unchanged."""


class McpFailed(ToolparityError, ConnectionError):
    """An MCP server cannot be started or reached, or does not answer as the protocol requires."""


class OutputUnfit(ToolparityError, ValueError):
    """The answer of a turn does not fit the type of the option ``output``. ``problems``: the reasons."""

    hint_default = "the answer is in Outcome.text"

    def __init__(self, problems: list[str]) -> None:
        super().__init__(f"the answer does not fit: {'; '.join(problems)}")
        self.problems = problems


class TextFailed(ToolparityError):
    """A model that writes a text for the user failed, declined or stopped early. ``text``: what had arrived."""

    def __init__(self, what: str, *, text: str = "", where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.text = text
