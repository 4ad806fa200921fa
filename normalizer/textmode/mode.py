"""Settings of a turn with a model that writes its calls as text.

mode = TextMode("tool-xml", limit=limit_of("first"))
turn = Turn(provider, tools, policy="first", prepare=mode.prepare, reader=mode.reader)
"""

from __future__ import annotations

import logging
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ..conversation import Request
from .history import as_text
from .reader import Decoder, TextReader

_log = logging.getLogger("toolparity")


class TextMode(Struct, frozen=True):
    """How a model writes its calls. The members are the arguments of `read_response`.

    The caller has to describe the tools and the dialect in the system prompt.
    """

    dialect: str
    limit: int | None = 1
    stop_sequences: tuple[str, ...] = ()
    thinking: bool = False
    reasoning: Literal["report", "read"] = "report"

    def prepare(self, request: Request) -> Request:
        """Return the request with calls and results as text and without client tools.

        Declared client tools would cause native calls. Tools that the provider runs itself stay declared. Each loss is
        logged as a warning. Raises UnknownDialect.
        """
        history = as_text(request.messages, self.dialect, tools=request.tools)
        for loss in history.losses:
            _log.warning("turn %s, block %s is not said as it was: %s", loss.turn, loss.block, loss.message)
        hosted = [tool for tool in request.tools if tool.kind == "hosted"]
        return replace(request, messages=history.messages, tools=hosted, tool_choice=None, parallel=None)

    def reader(self, decoder: Decoder, request: Request) -> TextReader:
        """Return the reader of one response.

        ``request``: the request before `prepare`; the schemas of its tools determine the types of parameters.
        """
        return TextReader(
            self.dialect,
            decoder,
            tools=request.tools,
            limit=self.limit,
            stop_sequences=self.stop_sequences,
            thinking=self.thinking,
            reasoning=self.reasoning,
        )
