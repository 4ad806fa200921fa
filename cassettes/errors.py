"""Errors of recordings: reading, recording, replay, and the files of the library."""

from __future__ import annotations

from toolparity.normalizer.errors import ToolparityError


class UnreadableSource(ToolparityError):
    """A file contains no traffic, or its traffic cannot be parsed at this location."""


class InvalidScenario(ToolparityError, ValueError):
    """A scenario file is invalid, or contradicts the tables of the suite."""


class UnknownSurface(ToolparityError, ValueError):
    """No surface has this name."""


class ServerNotStarted(ToolparityError, OSError):
    """The emulated providers cannot listen on the given address, or one of them did not start."""


class InvalidFault(ToolparityError, ValueError):
    """The description of a fault is invalid."""


class UnreadableCassette(UnreadableSource, ValueError):
    """A file of the library is not a cassette, is damaged or is malicious; it was rejected as a whole."""


class InvalidProvenance(ToolparityError, ValueError):
    """The provenance of a cassette is missing or impossible."""


class CassetteNotWritten(ToolparityError, OSError):
    """The new cassette could not be written. The existing file is unchanged."""

    hint_default = "an existing cassette is unchanged"


class CassetteNotConverted(ToolparityError, ValueError):
    """The target format cannot hold everything that the cassette contains."""

    hint_default = "nothing was written"


class RequestNotRecorded(ToolparityError):
    """No remaining recorded request matches the request that was sent."""

    hint_default = "if the request changed on purpose, record the scenario again"


class RecordingFailed(ToolparityError):
    """A recording is incomplete, unclean or not replayable. Earlier recordings are unchanged."""


class BudgetSpent(RecordingFailed):
    """The budget of a run does not allow another request. Nothing more is sent."""

    hint_default = "raise --max-calls or --max-cost; what is recorded is kept"


class InvalidPrices(ToolparityError, ValueError):
    """A table of prices cannot be read."""

    hint_default = 'write a table for each model, such as ["gpt-5-mini"] with input and output for a million tokens'


class ReplayFailed(ToolparityError):
    """The replay of a cassette differs from its scenario."""


class InvalidAllowList(ToolparityError, ValueError):
    """The list of allowed values cannot be read, or an entry is invalid."""


class SecretsLeft(ToolparityError, ValueError):
    """The data to be written contains possible secrets. ``leaks``: their kinds and locations, masked."""

    hint_default = "nothing was written; scrub the data, or remove the named values"

    def __init__(self, what: str, *, leaks: tuple[object, ...] = (), where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.leaks = leaks
