"""Sessions over WebSocket: OpenAI Realtime, the Responses API over WebSocket, and Gemini Live.

    ws://127.0.0.1:PORT/openai/v1/realtime      also below /scenario/NAME, as over HTTP
    ws://127.0.0.1:PORT/openai/v1/responses
    ws://127.0.0.1:PORT/google/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent

What the client asked so far is a request on the base wire. The index answers it with a recorded or scripted stream,
whose events become messages of the session. They are emulated, since providers send such events over HTTP, and they
have no audio.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from starlette.routing import BaseRoute, WebSocketRoute
from starlette.types import Scope
from starlette.websockets import WebSocket, WebSocketDisconnect

from toolparity.normalizer import json_codec
from toolparity.normalizer.sessions import Session
from toolparity.normalizer.wires.google_gemini.spelling import camel_case
from toolparity.normalizer.wires.traverse import member

from .. import emulation_marker
from ..chunking import events
from ..errors import RequestNotRecorded
from ..surfaces import Surface
from . import instructions
from .journal import Journal
from .response_index import ResponseIndex

Json = dict[str, Any]


class Server:
    """What a server of a format does besides answering. This one does nothing.

    ``acknowledged``: the messages that confirm one of the client. ``asks``, ``interrupts``: whether a message of the
    client asks for a response, or ends the one that runs. ``interrupted``: the messages with which it ends.
    """

    binary = False

    def __init__(self, session: Session, model: str | None) -> None:
        self.session = session
        self.model = model

    def greeting(self) -> Iterable[Json]:
        return ()

    def acknowledged(self, message: Json) -> Iterable[Json]:
        return ()

    def asks(self, message: Json) -> bool:
        return message.get("type") == "response.create"

    def interrupts(self, message: Json) -> bool:
        return False

    def interrupted(self, sent: list[Json]) -> Iterable[Json]:
        return ()

    def error(self, status: int, error: Json) -> Json:
        return {"type": "error", "status": status, "error": error}

    def frame(self, made: Json) -> Json:
        return made


class _Realtime(Server):
    def __init__(self, session: Session, model: str | None) -> None:
        super().__init__(session, model)
        self._number = 0
        self._response: str | None = None
        self._ids: list[str] = []  # of the responses, which are answers to the same request after a cancellation
        self._outside = False  # whether the client asked outside of the conversation

    def greeting(self) -> Iterable[Json]:
        yield {"type": "session.created", "session": {"type": "realtime", "model": self.model}}

    def acknowledged(self, message: Json) -> Iterable[Json]:
        if message.get("type") == "session.update":
            settings = message.get("session")
            settings = settings if isinstance(settings, dict) else {}
            yield {"type": "session.updated", "session": {"model": self.model, **settings}}
        elif message.get("type") == "conversation.item.create":
            for word in ("added", "done"):
                yield {"type": f"conversation.item.{word}", "previous_item_id": None, "item": message.get("item")}
        elif message.get("type") == "response.cancel":
            words = "Cancellation failed: no active response found"
            error = {"type": "invalid_request_error", "code": "response_cancel_not_active", "message": words}
            yield {"type": "error", "error": error}

    def asks(self, message: Json) -> bool:
        if asks := super().asks(message):
            self._outside = member(message.get("response"), "conversation") == "none"
        return asks

    def interrupts(self, message: Json) -> bool:
        return message.get("type") == "response.cancel"

    def interrupted(self, sent: list[Json]) -> Iterable[Json]:
        output: dict[int, Json] = {}
        for frame in sent:
            at = frame.get("output_index", -1)
            if isinstance(frame.get("item"), dict):
                output[at] = dict(frame["item"])
            elif frame["type"] == "response.function_call_arguments.delta":
                output[at]["arguments"] += frame["delta"]
        for at, item in output.items():
            if item.get("status") == "in_progress":
                item["status"] = "incomplete"
                yield {"type": "response.output_item.done", "output_index": at, "item": item}
        details = {"type": "cancelled", "reason": "client_cancelled"}
        body = {"object": "realtime.response", "id": self._response, "status": "cancelled", "status_details": details}
        yield {"type": "response.done", "response": {**body, "output": [*output.values()], "usage": None}}

    def frame(self, made: Json) -> Json:
        self._number += 1
        if made["type"] == "response.created":
            self._ids.append(made["response"]["id"])
            count = self._ids.count(self._ids[-1])
            self._response = self._ids[-1] + (f"_{count}" if count > 1 else "")
        if "response" in made:
            place = {"conversation_id": None} if self._outside else {}
            made = {**made, "response": {**made["response"], **place, "id": self._response}}
        of_response = made["type"].startswith("response.") and "response" not in made
        return {**made, "event_id": f"event_{self._number}", **({"response_id": self._response} if of_response else {})}


class _Live(Server):
    binary = True

    def acknowledged(self, message: Json) -> Iterable[Json]:
        if "setup" in message:
            yield {"setupComplete": {}}
        if self._speaks(message) and self.session.open_calls:
            yield {"toolCallCancellation": {"ids": [call.id for call in self.session.open_calls]}}

    def asks(self, message: Json) -> bool:
        return self._speaks(message) or ("toolResponse" in message and not self.session.open_calls)

    def interrupts(self, message: Json) -> bool:
        return self._speaks(message)

    def interrupted(self, sent: list[Json]) -> Iterable[Json]:
        yield {"serverContent": {"interrupted": True}}
        yield {"serverContent": {"turnComplete": True}}

    def error(self, status: int, error: Json) -> Json:
        # Google's SDK reads these members at the top of the message.
        return {"code": status, "status": error.get("status", "NOT_FOUND"), "message": error.get("message")}

    def _speaks(self, message: Json) -> bool:
        content, live = message.get("clientContent"), message.get("realtimeInput")
        return bool(member(content, "turnComplete") or member(live, "text") or member(live, "activityStart"))


#: Wire -> path below the provider's address -> the format, and what its server does.
_SERVED: dict[str, dict[str, tuple[str, type[Server]]]] = {
    "openai.responses": {
        "/v1/realtime": ("openai.realtime", _Realtime),
        "/v1/responses": ("openai.responses", Server),
    },
    "google.gemini": {
        f"/ws/google.{service}BidiGenerateContent": ("google.live", _Live)
        for service in (
            "ai.generativelanguage.{version}.GenerativeService.",
            "cloud.aiplatform.{version}.LlmBidiService/",
        )
    },
}


def routes(index: ResponseIndex, journal: Journal, delay: float) -> list[BaseRoute]:
    """Return the routes of all sessions: below the providers' addresses, and at the root for the owner of the wire.

    ``delay``: seconds before each message of a response.
    """
    made: list[BaseRoute] = []
    for surface in index.surfaces:
        for path, (name, server) in _SERVED.get(surface.wire, {}).items():
            answers = _Answers(index, journal, surface)
            for base in (f"/{surface.provider}", *([""] if surface.provider == surface.spec.owner else [])):
                made.append(WebSocketRoute(base + path, partial(_serve, answers, delay, name, server)))
    return made


async def _serve(answers: _Answers, delay: float, name: str, server: type[Server], socket: WebSocket) -> None:
    session = Session(name, provider=answers.surface.provider, kept=True)
    connection = _Connection(answers, socket, session, server(session, socket.query_params.get("model")), delay)
    await connection.run()


class _Answers(NamedTuple):
    """What the server of an address answers from."""

    responses: ResponseIndex
    journal: Journal
    surface: Surface

    def events(self, request: Json, scope: Scope) -> list[Json]:
        """Return the events of the base wire that answer a request. Raises RequestNotRecorded."""
        scenario = instructions.of(scope).scenario
        entry = self.journal.begin("WEBSOCKET", scope["path"], scenario)
        entry.surface = self.surface.name
        body = json_codec.encode({**request, **({} if self.surface.spec.stream_path else {"stream": True})})
        try:
            found = self.responses.find(self.surface, body, stream=True, scenario=scenario)
        except RequestNotRecorded as error:
            entry.why = str(error)
            raise
        entry.cassette = found.location
        if (status := found.response["status"]["code"]) >= 400:
            refusal = json_codec.decode_or_text(found.answer)
            return [{"error": {}, **(refusal if isinstance(refusal, dict) else {}), "status": status}]
        lines = (event.splitlines() for event in events(found.answer))
        data = (b"".join(line[5:] for line in each if line[:5] == b"data:") for each in lines)
        values = map(json_codec.decode_or_text, data)
        return [value for value in values if isinstance(value, dict)]


def _error_in(event: Json) -> Json | None:
    """Return the error of a body over HTTP, or of Gemini's last event, neither of which a session has."""
    error = event.get("error")
    return error if isinstance(error, dict) and "type" not in event else None


class _Connection:
    """One session. The client's messages are read while a response is sent, so that they can interrupt it."""

    def __init__(self, answers: _Answers, socket: WebSocket, session: Session, server: Server, delay: float) -> None:
        self._answers, self._socket, self._session, self._server, self._delay = answers, socket, session, server, delay
        self._inbox: asyncio.Queue[Json | None] = asyncio.Queue()
        self._later: deque[Json | None] = deque()

    async def run(self) -> None:
        marker = (emulation_marker.HEADER.encode(), emulation_marker.EMULATED.encode())
        await self._socket.accept(headers=[marker])
        reading = asyncio.ensure_future(self._read())
        try:
            await self._send(self._server.greeting())
            while (message := self._later.popleft() if self._later else await self._inbox.get()) is not None:
                await self._send(self._server.acknowledged(message))
                self._session.sent(message)
                if self._server.asks(message):
                    await self._respond()
        except WebSocketDisconnect:
            pass
        finally:
            reading.cancel()

    async def _read(self) -> None:
        while (message := await self._socket.receive())["type"] == "websocket.receive":
            value = json_codec.decode_or_text(message.get("bytes") or (message.get("text") or "").encode())
            if isinstance(value, dict):
                self._inbox.put_nowait(camel_case(value) if self._server.binary else value)
        self._inbox.put_nowait(None)

    async def _send(self, made: Iterable[Json]) -> list[Json]:
        frames = [self._server.frame(one) for one in made]
        for frame in frames:
            self._session.received(frame)
            data = json_codec.encode(frame)
            await (self._socket.send_bytes(data) if self._server.binary else self._socket.send_text(data.decode()))
        return frames

    def _frames(self, answer: list[Json]) -> Iterator[Json]:
        for event in answer:
            if (error := _error_in(event)) is None:
                yield from self._session.frames(event)
            else:
                yield self._server.error(event.get("status") or error.get("code") or 500, error)

    async def _respond(self) -> None:
        """Send the response to what the client asked so far, until the client interrupts it."""
        sent: list[Json] = []
        try:
            answer = self._answers.events(self._session.request, self._socket.scope)
        except RequestNotRecorded as error:
            await self._send([self._server.error(404, {"type": "not_recorded", "message": str(error)})])
            return
        ended = len(self._session.responses)
        for frame in self._frames(answer):
            await asyncio.sleep(self._delay)
            while sent and not self._inbox.empty():
                message = self._inbox.get_nowait()
                interrupts = message is not None and self._server.interrupts(message)
                if message is None or not interrupts or self._server.asks(message):
                    self._later.append(message)
                if message is None or interrupts:
                    await self._send(self._server.interrupted(sent) if interrupts else ())
                    return
            sent += await self._send([frame])
        if len(self._session.responses) == ended and (len(answer) != 1 or _error_in(answer[0]) is None):
            self._later.append(None)
            await self._socket.close(1011, "the recorded response has no end")
