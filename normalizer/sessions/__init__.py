"""Sessions over WebSocket: series of responses in one connection. A session is decoded by the wire it is based on.

    message of the server -> format of the session: which response it belongs to, as an event of the base wire
                          -> `StreamDecoder` of the base wire -> canonical events, and a `Response` at its end
    message of the client -> format of the session: declared tools, history, results

A format is a module of this package with a class ``Format``, and a row of `SESSIONS`.
"""

from .events import AudioOutput, CallsCancelled, InputTranscript, SessionEvent
from .exchanges import SessionExchange
from .session import Session
from .table import SESSIONS, SessionFormat, session_format

__all__ = [
    "SESSIONS",
    "AudioOutput",
    "CallsCancelled",
    "InputTranscript",
    "Session",
    "SessionEvent",
    "SessionExchange",
    "SessionFormat",
    "session_format",
]
