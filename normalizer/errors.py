"""Base class of the errors of this distribution, and the errors of the normalizer.

Each error states what is wrong, where, and what to do; ``str()`` combines the three. Unusual traffic does not raise an
error: it becomes a finding of the response (`toolparity.normalizer.findings`).
"""

from __future__ import annotations


class ToolparityError(Exception):
    """Base class of all errors of this distribution.

    Attributes: ``what`` (the problem), ``where`` (a location in the input, or ""), ``hint`` (what to do, or "").
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
    """The name of the wire is unknown."""


class AmbiguousBody(ToolparityError, ValueError):
    """No wire was passed, and the body fits none or several. ``candidates``: the names of the wires that it fits."""

    hint_default = "pass wire=…"

    def __init__(self, what: str, *, candidates: tuple[str, ...] = (), where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.candidates = candidates

    def __str__(self) -> str:
        fits = f"{self.what}: {', '.join(self.candidates)}" if self.candidates else self.what
        return f"{self.where}: {fits} ({self.hint})" if self.where else f"{fits} ({self.hint})"


class MalformedBody(ToolparityError, ValueError):
    """The input is not a body of this wire: not JSON, not an object, or not a protobuf message of the expected type.

    ``body``: the input, as bytes or an object.
    """

    def __init__(self, what: str, *, body: object = None, where: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.body = body


class NotAResponse(MalformedBody):
    """The body is a JSON object, but neither a response nor an error of the wire."""


class SeveralBodies(MalformedBody):
    """The input contains more than one response, but one was expected."""

    hint_default = "pass one body at a time; toolparity.normalizer.body_splitter.responses(data) splits them"


class EventTooLarge(ToolparityError, ValueError):
    """A pending stream event exceeds the size limit (failure SSE-13)."""

    hint_default = "raise max_event_bytes if events of this size are legitimate"


class TooManyCalls(ToolparityError, ValueError):
    """A stream opened more calls than any real response has (failure DOS-01)."""


class DecoderFinished(ToolparityError, RuntimeError):
    """``feed()`` or ``finish()`` was called after ``finish()``: a decoder decodes one response."""

    hint_default = "make a new StreamDecoder for the next response"


class PolicyError(ToolparityError, ValueError):
    """A policy cannot be applied: unknown policy, negative limit, missing choice, or an argument of a wrong type."""


class StreamingError(ToolparityError):
    """The caller's side ended a stream early on purpose; the subclass states the reason."""


class ToolLimitReached(StreamingError):
    """A model that writes calls as text began one more call than allowed.

    The content before that call is a complete, successful response. ``number``: the number of the call, 2 for the
    second. ``name``: its tool, or "" if only the opening tag arrived. ``events``: the events of the same chunk before
    the call.
    """

    hint_default = "close the stream and finish the reader: its response is complete"

    def __init__(self, what: str, *, number: int = 0, name: str = "", events: tuple[object, ...] = ()) -> None:
        super().__init__(what)
        self.number = number
        self.name = name
        self.events = events


class UserCancelled(StreamingError):
    """The user, or the program on the user's behalf, cancelled the response: there is nothing to act on."""

    hint_default = "send the request again if the response is still needed"


class MissingExtra(ToolparityError, ImportError):
    """A required optional dependency is not installed."""


class DuplicateAnswer(ToolparityError, ValueError):
    """A call has two results, or a result belongs to no call of the turn (failure ID-08)."""

    hint_default = "pass one result for each call of the turn"


class UnserializableResult(ToolparityError, TypeError):
    """The outcome of a tool is not JSON-serializable: unsupported type, NaN, infinity or unlimited nesting."""


class StripIllegal(ToolparityError, ValueError):
    """A call must not be removed from its turn, which has signed reasoning."""

    hint_default = "answer it with an error result instead"


class MissingKey(ToolparityError):
    """The environment contains no API key for a real provider."""
