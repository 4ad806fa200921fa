"""State of a block of the message while its stream arrives."""

from __future__ import annotations

from ..block_stream import BlockState
from .blocks import argument_text
from .schema import Call


class MessageBlockState(BlockState):
    """The text, the reasoning or a call of a message. Each call arrives whole, in one event.

    ``kind``: the type of the block, which is also its index: text and reasoning have one block each.
    """

    @property
    def call(self) -> Call | None:
        """The call of the block, or None if it is not a call."""
        return self.start if type(self.start) is Call else None

    def header(self) -> tuple[str, str | None, str | None]:
        """See `BlockState.header`."""
        call = self.call
        if call is None:
            return self.kind, None, None
        return self.kind, call.id, call.function.name if call.function else None

    def initial(self) -> str:
        """See `BlockState.initial`."""
        return "" if self.call is None else argument_text(self.call)
