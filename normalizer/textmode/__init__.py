"""Text mode: reading and writing of calls that a model writes into its text.

    reader = TextReader("hermes", StreamDecoder("openai.chat"), tools=tools, limit=1)
    response = read_stream(answer.iter_bytes(), reader, close=answer.close)

Calls in a text become canonical calls, which `select` and `answer` accept like native ones. The stream can be ended at
the tool limit. A response with native calls is not changed.
"""

from ..errors import ToolLimitReached, UserCancelled
from .detect import MarkupLeak, detect, report
from .dialects import DIALECTS
from .extract import limit_of, read_response
from .history import TextHistory, as_native, as_text
from .reader import TextMode, TextReader
from .streams import aread_stream, read_stream

__all__ = [
    "DIALECTS",
    "MarkupLeak",
    "TextHistory",
    "TextMode",
    "TextReader",
    "ToolLimitReached",
    "UserCancelled",
    "aread_stream",
    "as_native",
    "as_text",
    "detect",
    "limit_of",
    "read_response",
    "read_stream",
    "report",
]
