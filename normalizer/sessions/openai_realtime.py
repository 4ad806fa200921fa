"""OpenAI's Realtime API, also as xAI and Azure speak it, with its current names and those of its beta.

Sources: `openai.types.realtime` (RealtimeServerEvent, RealtimeClientEvent), recorded sessions. The events of a response
are those of Responses under other names. Sound is counted, and its transcript is the text.
"""

from __future__ import annotations

import re
from typing import Any

from ..conversation import ToolResult
from ..model import Response
from ..wires.traverse import member, members_except
from .events import AudioOutput, InputTranscript
from .exchanges import Asked, Responses
from .format import Format as Base

#: Name of the event -> its name on `openai.responses`.
_NAMES = {
    f"response.{word}.{end}": f"response.output_text.{end}"
    for word in ("output_audio_transcript", "audio_transcript", "text")
    for end in ("delta", "done")
}
_AUDIO = ("response.output_audio.delta", "response.audio.delta")
_SILENT = ("response.output_audio.done", "response.audio.done")
#: Events about the session, which change no response.
_OF_SESSION = frozenset(
    f"{topic}.{word}"
    for topic, words in {
        "session": "created updated",
        "conversation": "created",
        "conversation.item": "added done created deleted retrieved truncated",
        "conversation.item.input_audio_transcription": "delta completed failed segment updated",
        "input_audio_buffer": "cleared committed speech_started speech_stopped timeout_triggered dtmf_event_received",
        "output_audio_buffer": "started stopped cleared",
        "rate_limits": "updated",
        "mcp_list_tools": "in_progress completed failed",
    }.items()
    for word in words.split()
) | {"ping"}
#: Members that concern the message and not the event of the response, also those of xAI.
_ENVELOPE = ("event_id", "response_id", "previous_item_id", "rid", "start_time")
#: Members of a response that Responses has too, or that have another place there.
_SHARED = ("id", "status", "output", "usage", "metadata", "status_details", "object")
#: Types of the parts of a message that are sound of the model.
_SOUNDS = ("output_audio", "audio")
_RECORDED_SIZE = re.compile(r"<(\d+) characters of base64>")


def decoded_size(base64: Any) -> int:
    """Return the number of bytes in a text in base64, also if a recording replaced it by its length."""
    if not isinstance(base64, str):
        return 0
    replaced = _RECORDED_SIZE.fullmatch(base64)
    length = len(base64.rstrip("=")) if replaced is None else int(replaced[1])
    return length * 3 // 4


class Format(Base):
    """The format `openai.realtime`."""

    def __init__(self, responses: Responses) -> None:
        super().__init__(responses)
        self._sizes: dict[str, int] = {}  # of the sound, by the id of its item
        self._said: dict[str, list[str]] = {}  # the texts, by the id of their item
        self._aside: list[Asked] = []  # what the client asked outside of the conversation
        self._outside: set[str] = set()

    @staticmethod
    def claims(message: dict[str, Any]) -> bool:
        """Return whether only this format has such a message."""
        kind = str(message.get("type"))
        if kind == "response.create":
            return message.keys() <= {"type", "event_id", "response"}
        response = message.get("response")
        return (
            kind in _OF_SESSION - {"ping"}
            or kind in ("session.update", "conversation.item.create", "input_audio_buffer.append")
            or member(response, "object") == "realtime.response"
        )

    def asked(self) -> dict[str, Any]:
        """Return what the next response answers, which can be a request outside of the conversation."""
        return self._aside[0].request if self._aside else self.request()

    def received(self, message: dict[str, Any], data: bytes) -> None:
        """Take a message of the server."""
        kind = str(message.get("type"))
        if kind in ("response.created", "response.done"):
            self._bounds(kind, message)
        elif kind in _AUDIO:
            size = decoded_size(message.get("delta"))
            item = str(message.get("item_id"))
            self._sizes[item] = self._sizes.get(item, 0) + size
            self.responses.emit(message.get("response_id"), AudioOutput(size))
        elif kind in _SILENT:
            pass
        elif kind.startswith("response."):
            self.responses.feed(message.get("response_id"), self._event(kind, message), self.begun, kind)
        elif kind == "error":
            self.responses.fail(message, "")
        elif kind in _OF_SESSION:
            self._about_session(kind, message)
        else:
            self.responses.find("unknown-event", f"event {kind!r}")

    def sent(self, message: dict[str, Any]) -> None:
        """Take a message of the client."""
        kind, item, response = message.get("type"), message.get("item"), message.get("response")
        if kind == "session.update":
            self._set(message.get("session"))
        elif kind == "conversation.item.create" and isinstance(item, dict):
            self._add_item(item, message.get("previous_item_id"))
        elif kind == "response.create" and isinstance(response, dict) and response.get("conversation") == "none":
            asked, items = self.begun(), response.get("input")
            asked.body |= members_except(response, "input", "conversation")
            if isinstance(items, list):
                asked = Asked({**asked.body, self.member: [self._item(each) for each in items]})
            self._aside.append(asked)

    def results(self, response: Response, results: list[ToolResult]) -> list[dict[str, Any]]:
        """Return the messages with results."""
        return _creating(self.result_items(response, results))

    def say(self, text: str) -> list[dict[str, Any]]:
        """Return the messages that send a text and ask for a response."""
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        return _creating([item])

    def frames(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the messages of a server for an event of Responses. See `Session.frames`."""
        kind, response = event["type"], event.get("response")
        if not isinstance(response, dict):
            return _shown_event(event)
        if kind in ("response.in_progress", "response.queued"):
            return []
        status, usage = response.get("status"), response.get("usage")
        made = {name: response.get(name) for name in ("id", "status", "metadata")}
        made |= {"object": "realtime.response", "status_details": None, "usage": None, "output_modalities": ["text"]}
        if status not in ("completed", "in_progress"):
            reason = member(response.get("incomplete_details"), "reason")
            made["status_details"] = {"type": status, "reason": reason, "error": response.get("error")}
        if isinstance(usage, dict):
            made["usage"] = {name.replace("tokens_details", "token_details"): n for name, n in usage.items()}
        output = response.get("output") or []
        made["output"] = [_shown(item) for item in output if member(item, "type") != "reasoning"]
        return [{"type": kind if kind == "response.created" else "response.done", "response": made}]

    def _bounds(self, kind: str, message: dict[str, Any]) -> None:
        response = message.get("response")
        if not isinstance(response, dict):
            self.responses.find("undecodable-event", f"{kind} has no response")
            return
        key = response.get("id")
        key = key if isinstance(key, str) else self.responses.only()
        if key is None and not self.responses.running:  # the server gives no ids
            key = f"response {len(self.responses.finished) + 1}"
        if response.get("conversation_id", "") is None and kind == "response.created" and key and self._aside:
            self.responses.begin(key, self._aside.pop(0))
            self._outside.add(key)
        if member(response.get("status_details"), "reason") in ("turn_detected", "client_cancelled"):
            self.responses.find("response-interrupted", f"{key}: {response['status_details']['reason']}", key)
        if not response.get("usage") and message.get("usage"):  # as xAI has it
            response = {**response, "usage": message["usage"]}
        self.responses.feed(key, {"type": kind, "response": self._body(response)}, self.begun, kind)
        if kind == "response.done" and key is not None:
            ended = self.responses.end(key)
            if key not in self._outside:
                self.add_response(ended)
            self._outside.discard(key)
        if not self.responses.running:
            self._sizes.clear()
            self._said.clear()

    def _body(self, response: dict[str, Any]) -> dict[str, Any]:
        """Return the body of Responses for a response."""
        details = response.get("status_details")
        reason, error = member(details, "reason"), member(details, "error")
        body = {name: response[name] for name in ("id", "status", "metadata") if response.get(name) is not None}
        body |= {"object": "response", "model": self.settings.get("model")}
        if reason:
            body["incomplete_details"] = {"reason": reason}
        if error:
            body["error"] = error
        output = response.get("output")
        body["output"] = [self._item(item) for item in output] if isinstance(output, list) else []
        usage = response.get("usage")
        if isinstance(usage, dict):
            body["usage"] = {name.replace("token_details", "tokens_details"): n for name, n in usage.items()}
        if others := members_except(response, *_SHARED):
            body["session"] = others
        return body

    def _event(self, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        """Return the event of Responses for an event of a response."""
        event = {name: value for name, value in message.items() if name not in _ENVELOPE}
        event["type"] = _NAMES.get(kind, kind)
        if event.get("content") == event.get("part"):
            event.pop("content", None)  # Azure's copy
        if "transcript" in event:
            event["text"] = event.pop("transcript")
        if isinstance(event.get("text"), str):
            self._said.setdefault(str(event.get("item_id")), []).append(event["text"])
        if isinstance(item := event.get("item"), dict):
            if kind.endswith("done") and "content" not in item and (said := self._said.get(str(item.get("id")))):
                item = {**item, "content": [{"text": text} for text in said]}  # xAI leaves it out
            event["item"] = self._item(item)
        return event

    def _item(self, item: Any) -> Any:
        """Return the item of Responses for an item of the conversation: transcripts as texts, sound as its size."""
        if not isinstance(item, dict):
            return item
        made = members_except(item, "object", *(() if item.get("type") == "message" else ("role",)))
        if isinstance(content := item.get("content"), list):
            made["content"] = [self._part(part, item.get("role")) for part in content if not _is_silent(part)]
            if item.get("role") == "assistant" and any(member(part, "type") in _SOUNDS for part in content):
                size = self._sizes.get(str(item.get("id")), 0)
                made["content"].append({"type": "output_audio", "audio": {"bytes": size}})
        return made

    def _part(self, part: Any, role: Any) -> Any:
        text = member(part, "text")
        text = member(part, "transcript") if text is None else text
        return {"type": "output_text" if role == "assistant" else "input_text", "text": text} if text else part

    def _about_session(self, kind: str, message: dict[str, Any]) -> None:
        if kind in ("session.created", "session.updated"):
            self._set(message.get("session"))
        elif kind == "conversation.item.deleted" and (id := message.get("item_id")) is not None:
            self.change([item for item in self.history if member(item, "id") != id])
        elif kind.startswith("conversation.item.input_audio_transcription."):
            text = message.get("delta" if kind.endswith("delta") else "transcript")
            if isinstance(text, str) and text:
                whole = kind.endswith("completed")
                self.responses.emit(None, InputTranscript(text, whole))
                if whole:
                    self.add(self._item({"type": "message", "role": "user", "content": [{"text": text}]}))

    def _set(self, session: Any) -> None:
        """Take the settings of the session that requests have, too."""
        for name in ("model", "instructions", "tools", "tool_choice"):
            value = member(session, name)
            if value is not None:
                self.settings[name] = value

    def _add_item(self, item: dict[str, Any], previous: Any) -> None:
        """Add an item of the client after the one with the id ``previous``; without it, at the end."""
        ids = [] if previous is None else ["root", *(member(each, "id") for each in self.history)]
        place = ids.index(previous) if previous in ids else len(self.history)
        self.insert(place, self._item(item))
        if item.get("type") == "function_call_output":
            self.answered([item.get("call_id")])


def _creating(items: list[Any]) -> list[dict[str, Any]]:
    """Return the messages that add items and ask for a response."""
    return [*({"type": "conversation.item.create", "item": item} for item in items), {"type": "response.create"}]


def _is_silent(part: Any) -> bool:
    """Return whether a part of a message has only sound, whose text is not known."""
    return member(part, "type") in (*_SOUNDS, "input_audio") and not member(part, "transcript")


def _shown_event(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return an event of Responses as a server of this format sends it, none for one that is not part of the format."""
    item, part = event.get("item"), event.get("part")
    if event["type"].startswith("response.reasoning") or member(item, "type") == "reasoning":
        return []
    made = members_except(event, "sequence_number", "logprobs")
    if item is not None:
        made["item"] = _shown(item)
    if part is not None:
        made["part"] = {"type": "text", "text": member(part, "text")}
    return [made]


def _shown(item: Any) -> Any:
    content = member(item, "content")
    if not isinstance(content, list):
        return item
    return {**item, "content": [{"type": "output_text", "text": member(part, "text")} for part in content]}
