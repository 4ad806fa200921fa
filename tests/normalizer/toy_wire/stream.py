"""Decoder of the streams of `toy.chat`."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.events import BlockDelta, BlockStart, ChoiceStop, Event, UsageUpdate
from toolparity.normalizer.model import Response, Stop
from toolparity.normalizer.wires.decode_context import Context
from toolparity.normalizer.wires.stop_reason import stopped_by_error
from toolparity.normalizer.wires.stream_base import StreamBase

from .decode import reason_of, response_of, usage_of


class Stream(StreamBase):
    """Collects the steps of one reply."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reply: dict[str, Any] = {"steps": []}
        self._ended = False

    def event(self, name: str | None, data: bytes, out: list[Event]) -> None:
        """Process one event."""
        event, steps = json_codec.decode(data), self._reply["steps"]
        match event.get("toy_event"):
            case "begin":
                self._reply |= {"toy_reply": event["id"], "model": event["model"]}
            case "text":
                if not steps or "text" not in steps[-1]:
                    out.append(BlockStart(0, len(steps), "text"))
                    steps.append({"text": ""})
                steps[-1]["text"] += event["add"]
                out.append(BlockDelta(0, len(steps) - 1, event["add"]))
            case "call":
                out.append(BlockStart(0, len(steps), "tool_call", event["ref"], event["fn"]))
                steps.append({"fn": event["fn"], "ref": event["ref"], "args": ""})
            case "args":
                steps[-1]["args"] += event["add"]
                out.append(BlockDelta(0, len(steps) - 1, event["add"]))
            case "end":
                self._ended = True
                self._reply |= {"end": event["why"], "spent": event["spent"]}
                out.append(ChoiceStop(0, Stop(reason_of(event["why"]), event["why"])))
                if (usage := usage_of(event["spent"])) is not None:
                    out.append(UsageUpdate(usage))
            case _:
                self.fail(event, out)

    def finish(self) -> Response:
        """Return the response. Without the end event it is incomplete."""
        complete = self._ended and self._error is None
        if not complete and self._error is None:
            self._context.find("stream-incomplete")
        response = response_of(self._reply, self._context, complete=complete)
        if self._error is None:
            return response
        return replace(response, error=self._error, choices=stopped_by_error(response.choices)).with_findings(
            self._context.findings
        )
