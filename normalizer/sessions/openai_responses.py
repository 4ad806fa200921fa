"""The Responses API over WebSocket, of OpenAI, xAI and gateways: the same events, without framing.

Sources: `openai.types.responses` (ResponsesServerEvent, ResponsesClientEvent). Events do not name their response. Those
of a lane (``stream_id``) follow each other.
"""

from __future__ import annotations

from typing import Any

from ..conversation import ToolResult
from ..model import Response
from ..wires.openai_responses.stream_events import TERMINAL
from ..wires.traverse import member, members_except
from .exchanges import Asked, Responses
from .format import Format as Base

#: Messages about input that the client sent for a running response.
_STEERING = ("response.steer.", "response.inject.")


class Format(Base):
    """The format `openai.responses`."""

    def __init__(self, responses: Responses) -> None:
        super().__init__(responses)
        self._asked: dict[str, list[dict[str, Any]]] = {}  # the requests of each lane without a response
        self._keys: dict[str, str] = {}  # the response that runs, or ran last, on each lane
        self._failed: set[str | None] = set()  # the responses that an error has ended
        self._requests: dict[str | None, dict[str, Any]] = {}

    @staticmethod
    def claims(message: dict[str, Any]) -> bool:
        """Return whether only this format has such a message."""
        if member(message.get("response"), "object") == "response":
            return True
        return message.get("type") == "response.create" and not message.keys().isdisjoint(("model", "input"))

    def request(self) -> dict[str, Any]:
        """Return the last request."""
        waiting = [asked[-1] for asked in self._asked.values() if asked]
        return members_except(waiting[-1], "stream_id") if waiting else {}

    def received(self, message: dict[str, Any], data: bytes) -> None:
        """Take a message of the server."""
        kind, lane = str(message.get("type")), str(message.get("stream_id") or "")
        id = member(message.get("response"), "id")
        event = data if "stream_id" not in message else members_except(message, "stream_id")
        idle = self._keys.get(lane) not in self.responses.running
        if kind == "response.created" or (idle and isinstance(id, str) and id not in self.responses.ended):
            self._begin(lane, id if isinstance(id, str) else f"response {len(self.responses.finished) + 1}")
        elif kind == "response.failed" and id in self._failed:
            return  # the error before it has ended the response
        elif kind == "error" and idle:
            if not self._asked.get(lane):
                self.responses.fail(message, "")
                return
            self._begin(lane, f"refused {len(self.responses.finished) + 1}")  # an answer to a request
        elif kind.startswith(_STEERING):
            if kind.endswith(".failed"):
                self.responses.fail(message, f"{kind}: ")
            return
        key = id if isinstance(id, str) else self._keys.get(lane)
        self.responses.feed(key, event, Asked, kind)
        if kind == "error":
            self._failed.add(key)
        if key is not None and (kind in TERMINAL or kind == "error"):
            self.responses.end(key)

    def sent(self, message: dict[str, Any]) -> None:
        """Take a message of the client."""
        if message.get("type") != "response.create":
            return
        request = members_except(message, "type", "event_id")
        self._asked.setdefault(str(message.get("stream_id") or ""), []).append({**request, "stream": True})
        items = request.get("input")
        self.answered([member(item, "call_id") for item in items] if isinstance(items, list) else [])

    def results(self, response: Response, results: list[ToolResult]) -> list[dict[str, Any]]:
        """Return the request that continues a response with results, with the settings of its request."""
        before = members_except(self._requests.get(response.id, {}), "input", "stream", "previous_response_id")
        items = self.result_items(response, results)
        return [{"type": "response.create", **before, "previous_response_id": response.id, "input": items}]

    def say(self, text: str) -> list[dict[str, Any]]:
        """Return the request for a response to a text. The caller adds the model and the tools."""
        return [{"type": "response.create", "input": [{"type": "message", "role": "user", "content": text}]}]

    def frames(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the event: it is the same."""
        return [event]

    def _begin(self, lane: str, key: str) -> None:
        before = self._keys.get(lane)
        asked = self._asked.get(lane)
        if (key == before or key in self.responses.ended) and (key in self.responses.running or not asked):
            return  # the event is repeated
        if before is not None:
            self.responses.end(before)  # if it runs, it has no end, and is incomplete
            self._requests.pop(before, None)
        request = asked.pop(0) if asked else {}
        self._keys[lane] = key
        self._requests[key] = request
        self.responses.begin(key, Asked(members_except(request, "stream_id")))
