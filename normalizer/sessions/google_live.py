"""Gemini Live (BidiGenerateContent), of the Gemini API and of Vertex AI.

Sources: `google.genai.types` (LiveServerMessage, LiveClientMessage), recorded sessions. The content of the server is
that of events of generateContent. A message with calls ends a response, because the model waits for the results; what
follows is another response. Sound is counted, and its transcript is the text.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from ..conversation import ToolResult
from ..events import UsageUpdate
from ..model import Response
from ..wires.calls import is_synthetic
from ..wires.google_gemini.blocks import usage
from ..wires.google_gemini.spelling import camel_case, listed
from ..wires.stop_words import reason_of
from ..wires.traverse import member
from .events import AudioOutput, InputTranscript
from .exchanges import Asked, Responses
from .format import Format as Base
from .openai_realtime import decoded_size

_SERVER = ("setupComplete", "serverContent", "toolCall", "toolCallCancellation")
_CLIENT = ("setup", "clientContent", "client_content", "realtimeInput", "toolResponse", "contextUpdate")
_OF_ERROR = ("code", "status", "message")
#: All members of a message of the server, and of its content.
_KNOWN = frozenset(
    (*_SERVER, "usageMetadata", "error", "goAway", "sessionResumptionUpdate", "voiceActivityDetectionSignal")
) | {"voiceActivity", *_OF_ERROR}
_OF_CANDIDATE = ("groundingMetadata", "urlContextMetadata")
_ENDS = ("turnComplete", "generationComplete", "interrupted", "turnCompleteReason")
_OF_INPUT = ("inputTranscription", "interimInputTranscription", "waitingForInput", "interactionStatus")
_OF_CONTENT = frozenset((*_OF_CANDIDATE, *_ENDS, *_OF_INPUT, "modelTurn", "outputTranscription"))
_OBJECTS = ("modelTurn", "outputTranscription", "inputTranscription", "interimInputTranscription")
#: Reasons for a complete turn under which nothing is wrong with the response.
_REGULAR = frozenset((None, "TURN_COMPLETE_REASON_UNSPECIFIED", "NEED_MORE_INPUT"))


class _ToolCall(Struct, rename="camel"):
    function_calls: list[dict[str, Raw]] = []


class _Calls(Struct, rename="camel"):
    """The calls of a message, with the exact text of their arguments."""

    tool_call: _ToolCall


class Format(Base):
    """The format `google.live`."""

    def __init__(self, responses: Responses) -> None:
        super().__init__(responses)
        self._number = 0
        self._sizes: dict[str, int] = {}  # of the sound of the running response, by its type
        self._stopped = False  # whether the running response has its finish reason
        self._generated = False
        self._interrupted = False  # whether the turn was interrupted, and neither its end nor new input came
        self._called = False  # whether the running response has calls before its end
        self._given = 0  # how many ids were given to calls without one
        self._heard = ""
        self._made: list[dict[str, Any]] = []  # calls of a server that are not sent yet

    @staticmethod
    def claims(message: dict[str, Any]) -> bool:
        """Return whether only this format has such a message."""
        return any(isinstance(message.get(name), dict) for name in (*_SERVER, *_CLIENT))

    @property
    def _key(self) -> str:
        return str(self._number)

    @property
    def _runs(self) -> bool:
        return self._key in self.responses.running

    def received(self, message: dict[str, Any], data: bytes) -> None:
        """Take a message of the server."""
        message = camel_case(message)
        content, figures = message.get("serverContent"), message.get("usageMetadata")
        content = content if isinstance(content, dict) else {}
        calls = listed(member(message.get("toolCall"), "functionCalls"))
        self._content(content)
        if calls:
            self._calls(calls, data, content)
        whole = bool(calls) and not any(member(call, "willContinue") for call in calls)
        reason = content.get("turnCompleteReason")
        word = reason if isinstance(reason, str) and reason not in _REGULAR else "STOP"
        if word != "STOP" and content.get("turnComplete") and not self._runs:
            self._open()  # a turn that failed before its first content
        complete = self._runs and (whole or bool(content.get("turnComplete")))
        if complete and not self._stopped:
            self._stop("SAFETY" if reason_of(word) == "unknown" else word, word)
        if isinstance(figures, dict):
            figures = {name.replace("responseToken", "candidatesToken"): value for name, value in figures.items()}
            if self._runs:
                self._feed({"usageMetadata": figures})
            elif (counted := usage(figures)) is not None:
                self.responses.emit(None, UsageUpdate(counted))
        if complete:
            self.finish()
        self._interrupted = self._interrupted and not content.get("turnComplete")
        if ids := listed(member(message.get("toolCallCancellation"), "ids")):
            self.responses.cancel([str(id) for id in ids])
            self._forget(set(map(str, ids)))
        if "error" in message or "code" in message:
            self.responses.fail(message, "")
        for holder, names in ((message, _SERVER), (content, _OBJECTS)):
            for name in names:
                if not isinstance(holder.get(name, {}), (dict, type(None))):
                    self.responses.find("wrong-type", f"{name} is not an object, and was not read", self._key)
        for name in [*(message.keys() - _KNOWN), *(content.keys() - _OF_CONTENT)]:
            self.responses.find("unknown-event", f"message with {name!r}", self._key)

    def sent(self, message: dict[str, Any]) -> None:
        """Take a message of the client."""
        message = camel_case(message)
        setup, update = message.get("setup"), message.get("contextUpdate")
        if isinstance(setup, dict):
            self.settings |= {n: setup[n] for n in ("tools", "systemInstruction", "generationConfig") if n in setup}
            if isinstance(setup.get("model"), str):
                self.settings["model"] = setup["model"].rpartition("/")[2]
        if isinstance(update, dict):
            tools = member(update.get("tools"), "tools")
            self.settings |= {} if tools is None else {"tools": tools}
        turns = listed(member(message.get("clientContent"), "turns"))
        text = member(message.get("realtimeInput"), "text")
        self.add(*turns, *([_user(text)] if isinstance(text, str) else []))
        results = listed(member(message.get("toolResponse"), "functionResponses"))
        if self._interrupted and (turns or text or results):  # what follows answers this
            self.finish()
            self._interrupted = False
        if results:
            self.add({"role": "user", "parts": [{"functionResponse": result} for result in results]})
            for result in results:
                name = member(result, "name")
                named = next((call.id for call in self.responses.open_calls.values() if call.name == name), None)
                self.answered([member(result, "id") or named])

    def results(self, response: Response, results: list[ToolResult]) -> list[dict[str, Any]]:
        """Return the message with results. A result has the id of its call here."""
        items = self.result_items(response, results)
        parts = [part for item in items for part in listed(member(item, "parts"))]
        made = [dict(part["functionResponse"]) for part in parts if "functionResponse" in part]
        for result, call in zip(made, response.calls, strict=False):
            if (id := call.extra.get("id") if is_synthetic(call.id) else call.id) is not None:
                result.setdefault("id", id)
        return [{"toolResponse": {"functionResponses": made}}]

    def say(self, text: str) -> list[dict[str, Any]]:
        """Return the message that sends a text and asks for a response."""
        return [{"clientContent": {"turns": [_user(text)], "turnComplete": True}}]

    def frames(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the messages of a server for an event of generateContent. See `Session.frames`."""
        made: list[dict[str, Any]] = []
        figures = event.get("usageMetadata") or {}
        spelled = {"usageMetadata": {n.replace("candidatesToken", "responseToken"): v for n, v in figures.items()}}
        for candidate in listed(event.get("candidates")):
            parts = listed(member(candidate.get("content"), "parts"))
            for part in parts:
                if "functionCall" in part:
                    id = f"function-call-{self._number}-{len(self._made) + 1}"
                    self._made.append({"id": id, **part["functionCall"]})
            others = [part for part in parts if "functionCall" not in part and part != {"text": ""}]
            if others:
                made.append({"serverContent": {"modelTurn": {"role": "model", "parts": others}}})
            if candidate.get("finishReason") and self._made:
                made.append({"toolCall": {"functionCalls": self._made}, **spelled})
                self._made = []
            elif candidate.get("finishReason"):
                made.append({"serverContent": {"generationComplete": True}})
                made.append({"serverContent": {"turnComplete": True}, **spelled})
        return made

    def finish(self) -> None:
        """Finish the response that still runs."""
        self.add_response(self.responses.end(self._key))

    def _open(self) -> None:
        if self._stopped:
            self.finish()  # an interrupted response, whose last message is missing
        if not self._runs:
            self._number += 1
            if self._heard:
                self.add(_user(self._heard))
            self._sizes, self._heard = {}, ""
            self._stopped = self._generated = self._called = False
            self.responses.begin(self._key, self.begun())

    def _feed(self, event: dict[str, Any]) -> None:
        model = self.settings.get("model")
        data = msgspec.json.encode({**event, "modelVersion": model} if model else event)
        self.responses.feed(self._key, data, Asked, "a message")

    def _feed_parts(self, parts: list[dict[str, Any]]) -> None:
        if parts:
            self._open()
            self._feed({"candidates": [{"content": {"role": "model", "parts": parts}}]})

    def _content(self, content: dict[str, Any]) -> None:
        parts = []
        for part in listed(member(content.get("modelTurn"), "parts")):
            data = member(part, "inlineData")
            kind = member(data, "mimeType")
            if isinstance(kind, str) and kind.startswith("audio/"):
                self._open()
                size = decoded_size(member(data, "data"))
                self._sizes[kind] = self._sizes.get(kind, 0) + size
                self.responses.emit(self._key, AudioOutput(size, kind))
            else:
                parts.append(part)
        if text := member(content.get("outputTranscription"), "text"):
            parts.append({"text": text})
        self._feed_parts(parts)
        self._called = self._runs and (self._called or any(isinstance(p, dict) and "functionCall" in p for p in parts))
        beside = {name: content[name] for name in _OF_CANDIDATE if content.get(name) is not None}
        if beside and self._runs:
            self._feed({"candidates": [beside]})
        for name in ("inputTranscription", "interimInputTranscription"):
            if isinstance(text := member(content.get(name), "text"), str) and text:
                self._heard += text if name == "inputTranscription" else ""
                self.responses.emit(None, InputTranscript(text, name != "inputTranscription"))
        self._generated = self._generated or content.get("generationComplete") is True
        self._interrupted = self._interrupted or bool(content.get("interrupted"))
        if content.get("interrupted") and not (self._runs and self._stopped):
            which = f"response {self._key}" if self._runs else "no response runs"
            self.responses.find("response-interrupted", which, self._key)
            if self._runs and (self._called or not self._generated):
                self._stop("interrupted")

    def _calls(self, calls: list[Any], data: bytes, content: dict[str, Any]) -> None:
        exact: list[Any] = calls
        try:
            exact = msgspec.json.decode(data, type=_Calls).tool_call.function_calls
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.responses.respelled = True
        parted = any(member(call, name) for call in calls for name in ("partialArgs", "willContinue"))
        for index, call in enumerate(exact):
            if isinstance(call, dict) and not parted and "id" not in call:  # unique in the session
                self._given += 1
                exact[index] = {"id": f"call_{self._given:08x}_0_0", **call}
                self.responses.find("id-missing", f"no id on the wire; this call is call_{self._given:08x}_0_0")
        parts = [{"functionCall": call} for call in exact]
        if self._interrupted and not (self._stopped and self._runs):
            self._open()
            self._stop("interrupted")
        if self._interrupted:
            self._feed({"candidates": [{"content": {"role": "model", "parts": parts}}]})
        else:
            self._feed_parts(parts)

    def _stop(self, reason: str, word: str = "") -> None:
        """Feed the sound and the finish reason. ``word``: the reason of the service, if it is another one."""
        self._feed_parts([{"audio": {"mimeType": kind, "bytes": size}} for kind, size in self._sizes.items()])
        beside = {"finishMessage": word} if word not in ("", reason) else {}
        self._feed({"candidates": [{"finishReason": reason, **beside}]})
        self._stopped = True

    def _forget(self, ids: set[Any]) -> None:
        """Remove cancelled calls from the history, which the model does not wait for any more."""
        history = []
        for content in self.history:
            parts = listed(member(content, "parts"))
            kept = [part for part in parts if member(member(part, "functionCall"), "id") not in ids]
            if kept:
                history.append(content if len(kept) == len(parts) else {**content, "parts": kept})
        self.change(history)


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}
