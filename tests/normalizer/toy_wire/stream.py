"""Decoder of the streams of `toy.chat`."""

from __future__ import annotations

from typing import Any

from toolparity.normalizer import json_codec
from toolparity.normalizer.events import BlockDelta, BlockStart, ChoiceStop, Event, UsageUpdate
from toolparity.normalizer.model import Response, Stop
from toolparity.normalizer.wires.decode_context import Context
from toolparity.normalizer.wires.stream_base import StreamBase

from .decode import reason_of, response_of, usage_of


class Stream(StreamBase):
    """Collects the steps of one reply."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reply: dict[str, Any] = {"steps": []}

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        steps = self._reply["steps"]
        event: dict[str, Any] = json_codec.decode(data)
        match event:
            case {"toy_event": "begin", **members}:
                self._reply |= members
            case {"toy_event": "step", "step": step}:
                kind = "tool_call" if "fn" in step else "text"
                out.append(BlockStart(0, len(steps), kind, step.get("ref"), step.get("fn")))
                steps.append(step)
            case {"toy_event": "add", "text": text}:
                steps[-1]["args" if "fn" in steps[-1] else "text"] += text
                out.append(BlockDelta(0, len(steps) - 1, text))
            case {"toy_event": "end", "end": word, **members}:
                self._reply |= {"end": word, **members}
                out.append(ChoiceStop(0, Stop(reason_of(word), word)))
                if (usage := usage_of(members)) is not None:
                    out.append(UsageUpdate(usage))
            case _:
                self.fail(event, out)

    def finish(self) -> Response:
        complete = "end" in self._reply
        if not complete:
            self._context.find("stream-incomplete")
        return response_of(self._reply, self._context, complete=complete)
