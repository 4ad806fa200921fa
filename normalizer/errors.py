"""Every error this distribution raises on purpose, one hierarchy.

Each says what happened, where, and what to do about it; ``str()`` joins the three. Traffic that is merely odd
never raises: it becomes a finding on the response (`toolparity.normalizer.findings`).
"""

from __future__ import annotations


class ToolparityError(Exception):
    """The root: catch this to catch everything raised on purpose.

    Attributes: ``what`` happened, ``where`` (a place in the input, or ""), ``hint`` (what to do, or "").
    """

    hint_default = ""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint or self.hint_default
        super().__init__(what, where, self.hint)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text} ({self.hint})" if self.hint else text


class UnknownWire(ToolparityError, ValueError):
    """The wire's name is in no table."""


class AmbiguousBody(ToolparityError, ValueError):
    """The wire was not told and the body fits none, or more than one; ``candidates`` names those it fits."""

    hint_default = "pass wire=…"

    def __init__(self, what: str, *, candidates: tuple[str, ...] = (), where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.candidates = candidates

    def __str__(self) -> str:
        fits = f"{self.what}: {', '.join(self.candidates)}" if self.candidates else self.what
        return f"{self.where}: {fits} ({self.hint})" if self.where else f"{fits} ({self.hint})"


class MalformedBody(ToolparityError, ValueError):
    """The bytes are no body of this wire: not JSON, not an object, not a protobuf message of the expected type.

    ``body`` keeps what was given (bytes, or the object), so nothing is lost.
    """

    def __init__(self, what: str, *, body: object = None, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.body = body


class NoAnswer(MalformedBody):
    """The body is a JSON object, but neither an answer nor an error of the wire."""


class SeveralBodies(MalformedBody):
    """The bytes contain more than one response, and one was expected; ``count``: how many, where that is known."""

    hint_default = "pass one body at a time; toolparity.normalizer.documents.responses(data) splits them"

    def __init__(self, what: str, *, body: object = None, count: int | None = None) -> None:
        super().__init__(what, body=body)
        self.count = count


class EventTooLarge(ToolparityError, ValueError):
    """A pending stream event outgrew the cap (failure SSE-13)."""

    hint_default = "raise max_event_bytes if events of this size are legitimate"


class TooManyCalls(ToolparityError, ValueError):
    """A stream opened more call slots than any real answer has (failure DOS-01)."""


class DecoderFinished(ToolparityError, RuntimeError):
    """``feed()`` or ``finish()`` after ``finish()``: a decoder reads one response."""

    hint_default = "make a new StreamDecoder for the next response"


class PolicyError(ToolparityError, ValueError):
    """An unknown policy, a limit below zero, a choice that the response does not have, or no response at all."""


class UnknownDialect(ToolparityError, ValueError):
    """No dialect of calls written as text has that name."""


class StreamingError(ToolparityError):
    """A stream was ended before its end, by the caller and on purpose; its type says why."""


class ToolLimitReached(StreamingError):
    """A model that writes calls as text began one more than it may: what came before is a whole, successful answer.

    ``number``: of the tool that began (2 for the second); ``name``: its name, "" where only its opening tag was seen;
    ``events``: those of the piece in which it began, up to there.
    """

    hint_default = "close the stream and finish the reader: its response is complete"

    def __init__(self, what: str, *, number: int = 0, name: str = "", events: tuple[object, ...] = ()) -> None:
        super().__init__(what)
        self.number = number
        self.name = name
        self.events = events


class UserCancelled(StreamingError):
    """The user, or the program for the user, broke the answer off: there is no response to act on."""

    hint_default = "ask again where the answer is still wanted"


class MissingExtra(ToolparityError, ImportError):
    """An optional dependency is needed for this and is not installed."""


class UnreadableSource(ToolparityError):
    """A file holds no traffic, or traffic that cannot be read at this place."""


class DuplicateAnswer(ToolparityError, ValueError):
    """Two results for one call, or a result for a call that does not stand there (failure ID-08)."""

    hint_default = "give one result for each call of the turn"


class UnsayableOutcome(ToolparityError, TypeError):
    """What a tool returned has no form in JSON: an object of a strange type, NaN, infinity, or a nest without end."""


class StripIllegal(ToolparityError, ValueError):
    """A call may not be cut from its turn."""

    hint_default = "answer it with an error result instead"


class InvalidTool(ToolparityError, ValueError):
    """A tool cannot be offered: its name is taken, or its schema is no JSON schema."""


class InvalidState(ToolparityError, ValueError):
    """What was kept of a turn cannot be gone on with: it is no state, is of a later version, or says something else."""


class TurnMisused(ToolparityError, RuntimeError):
    """A turn was told something that cannot be: run twice, a decision on a call that waits for none."""


class CircuitOpen(ToolparityError, RuntimeError):
    """A tool or a provider failed so often that it is left alone for a while."""

    hint_default = "it is tried again when its breaker's seconds are over"


class OutOfTime(ToolparityError, TimeoutError):
    """The seconds that somebody gave a turn are used up."""


class TooManyAbandoned(ToolparityError, RuntimeError):
    """So many threads hang in tools that were given up that no more are started."""

    hint_default = "give blocking tools timeouts of their own, so that they end"


class UnknownTurn(ToolparityError, LookupError):
    """The turn log holds no turn of that id, or nothing of it that could be gone on with."""


class TurnHeld(ToolparityError, RuntimeError):
    """Somebody else runs this turn, or has taken it over: whoever hears this must not go on with it."""


class LogFailed(ToolparityError, OSError):
    """The database of a turn log cannot be opened, read or written."""


class NewerLog(LogFailed):
    """The database was made by a later version of this program; nothing in it was changed."""


class NothingSaid(ToolparityError):
    """A model that was to find the words failed, declined, or broke off; ``said``: what had arrived of them."""

    def __init__(self, what: str, *, said: str = "", where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.said = said


class InvalidScript(ToolparityError, ValueError):
    """A scenario's script does not say what a script has to say."""


class UnknownSurface(ToolparityError, ValueError):
    """No provider is known on that wire."""


class ServerNotStarted(ToolparityError, OSError):
    """The emulated providers cannot listen where they were told to, or one of them did not come up."""


class UnknownSubject(ToolparityError, ValueError):
    """There is nothing of that name to be tested, or it is no subject."""


class BadAnswer(ToolparityError, ValueError):
    """A subject gave something that is no answer."""


class InvalidScenario(ToolparityError, ValueError):
    """A scenario does not say what it has to say, or contradicts its script."""


class UnreadableCassette(UnreadableSource, ValueError):
    """A file of the library is no cassette, is damaged, or is built to do harm; nothing of it was acted on."""


class InvalidProvenance(ToolparityError, ValueError):
    """A cassette does not say where it comes from, or says what cannot be."""


class CassetteNotWritten(ToolparityError, OSError):
    """The new cassette could not be put on disk whole. What stood there before still stands."""

    hint_default = "the old cassette, if there was one, is untouched"


class RequestNotRecorded(ToolparityError):
    """No recorded request that is still to be played is like the one that was sent."""

    hint_default = "if it changed on purpose, record the scenario again"


class RecordingFailed(ToolparityError):
    """A recording did not become whole, clean and replayable; what was recorded before still stands."""


class ReplayFailed(ToolparityError):
    """A cassette does not play as its scenario does."""


class MissingKey(ToolparityError):
    """Asking a real provider needs a key, and there is none in the environment."""


class InvalidBaseline(ToolparityError, ValueError):
    """A file of expected failures cannot be read."""


class UnreadableResults(ToolparityError, ValueError):
    """A file does not hold the results of a run, or not of a format that this version reads."""


class ReportNotWritten(ToolparityError, OSError):
    """A report could not be put where it was to stand."""


class SecretsLeft(ToolparityError, ValueError):
    """What was to be written still holds something that looks like a secret; ``leaks`` says what and where, masked."""

    hint_default = "nothing was written: scrub it, or remove what it names"

    def __init__(self, what: str, *, leaks: tuple[object, ...] = (), where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.leaks = leaks
