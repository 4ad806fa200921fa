"""Calls that a model writes into its text: read, ended at the tool limit, and written back.

    reader = TextReader("hermes", StreamDecoder("openai.chat"), tools=tools, limit=1)
    response = read_stream(answer.iter_bytes(), reader, close=answer.close)

Text in, canonical form out: the calls of a text are calls like any other, and `select` and `answer` take them. A
response with native calls is left alone.
"""

from .detect import Leak, detect, report
from .dialects import DIALECTS
from .extract import limit_of, read_response
from .history import TextHistory, as_native, as_text
from .mode import TextMode
from .reader import TextReader
from .streams import aread_stream, read_stream

__all__ = [
    "DIALECTS",
    "Leak",
    "TextHistory",
    "TextMode",
    "TextReader",
    "aread_stream",
    "as_native",
    "as_text",
    "detect",
    "limit_of",
    "read_response",
    "read_stream",
    "report",
]
