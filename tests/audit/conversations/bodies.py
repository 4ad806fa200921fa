"""Editing of request bodies on every wire, so that a test can send what no request writer would write.

`BODIES` has one class per wire with the same methods. They edit the last round of a body: its calls and their results.
"""

from __future__ import annotations

import copy
from typing import Any

from xai_sdk.proto import chat_pb2

#: A list and an index in it. `entry` returns the item.
At = tuple[Any, int]


def entry(at: At) -> Any:
    """Return the item at a position."""
    return at[0][at[1]]


def _member(item: Any, *path: str) -> Any:
    """Return a member of an object or of a message of gRPC."""
    for name in path:
        item = item[name] if isinstance(item, dict) else getattr(item, name)
    return item


def _set(item: Any, path: str, value: Any) -> None:
    *names, last = path.split(".")
    item = _member(item, *names)
    if isinstance(item, dict):
        item[last] = value
    else:
        setattr(item, last, value)


def _delete(at: list[At]) -> bool:
    """Delete items, and return whether there were any."""
    for items, number in reversed(at):
        del items[number]
    return bool(at)


class ChatBody:
    """A body of Chat Completions. The other wires differ in the paths of members, and in their calls and results."""

    history, tools, description = "messages", "tools", "function.description"
    call_id_path, result_id_path, arguments = "id", "tool_call_id", "function.arguments"
    arguments_are_text = True

    def __init__(self, body: Any) -> None:
        self.body = copy.deepcopy(body)

    @property
    def messages(self) -> Any:
        return _member(self.body, self.history)

    def keep(self, before: ChatBody, edited: ChatBody) -> None:
        """Keep an edit of an earlier request, as an agent does that remembers what it sent."""
        del self.messages[: len(before.messages)]
        for message in reversed(edited.messages):
            self.messages.insert(0, message)
        tools = self._tools()
        del tools[:]
        tools.extend(edited._tools())

    def _tools(self) -> Any:
        return _member(self.body, *self.tools.split("."))

    def calls(self) -> list[At]:
        last = [m for m in self.messages if m["role"] == "assistant"][-1]
        return [(last["tool_calls"], n) for n in range(len(last.get("tool_calls") or ()))]

    def results(self) -> list[At]:
        first = max(n for n, m in enumerate(self.messages) if m["role"] == "assistant")
        return [(self.messages, n) for n in range(first, len(self.messages)) if self.messages[n]["role"] == "tool"]

    def call_id(self, call: At) -> str:
        return str(_member(entry(call), *self.call_id_path.split(".")))

    def set_result_id(self, result: At, id: str) -> None:
        _set(entry(result), self.result_id_path, id)

    def set_arguments(self, call: At, city: str) -> None:
        _set(entry(call), self.arguments, f'{{"city":"{city}"}}' if self.arguments_are_text else {"city": city})

    def insert_user(self, text: str) -> None:
        messages, first = self.results()[0]
        messages.insert(first, {"role": "user", "content": text})

    def set_question(self, text: str) -> None:
        next(m for m in self.messages if m["role"] == "user")["content"] = text

    def set_tool_description(self, text: str) -> None:
        _set(self._tools()[0], self.description, text)

    def drop_reasoning(self) -> bool:
        return False


class OllamaBody(ChatBody):
    """A body of Ollama's chat API."""

    arguments_are_text = False

    def drop_reasoning(self) -> bool:
        return bool([m for m in self.messages if m.pop("thinking", None)])


class BlocksBody(ChatBody):
    """A body whose messages have blocks. The kinds are members, or values of the member ``type``."""

    role, content, call, result, reasoning = "assistant", "content", "", "", [""]
    arguments_are_text = False

    def _blocks(self, message: Any, *kinds: str) -> list[At]:
        blocks = message[self.content]
        return [(blocks, n) for n, block in enumerate(blocks) if {*kinds} & {*block, block.get("type")}]

    def last_turn(self) -> Any:
        return [m for m in self.messages if m["role"] == self.role][-1]

    def calls(self) -> list[At]:
        return self._blocks(self.last_turn(), self.call)

    def results(self) -> list[At]:
        return self._blocks(self.messages[-1], self.result)

    def insert_user(self, text: str) -> None:
        self.messages[-1][self.content].insert(0, {"text": text})

    def set_question(self, text: str) -> None:
        next(m for m in self.messages if m["role"] == "user")[self.content] = [{"text": text}]

    def drop_reasoning(self) -> bool:
        return _delete(self._blocks(self.last_turn(), *self.reasoning))


class AnthropicBody(BlocksBody):
    """A body of the Messages API."""

    call, result, reasoning = "tool_use", "tool_result", ["thinking", "redacted_thinking"]
    result_id_path, arguments, description = "tool_use_id", "input", "description"

    def insert_user(self, text: str) -> None:
        self.messages[-1]["content"].insert(0, {"type": "text", "text": text})

    def set_question(self, text: str) -> None:
        ChatBody.set_question(self, text)


class ConverseBody(BlocksBody):
    """A body of Bedrock's Converse."""

    call, result, reasoning, tools = "toolUse", "toolResult", ["reasoningContent"], "toolConfig.tools"
    call_id_path, result_id_path = "toolUse.toolUseId", "toolResult.toolUseId"
    arguments, description = "toolUse.input", "toolSpec.description"

    def insert_user(self, text: str) -> None:
        self.messages.insert(len(self.messages) - 1, {"role": "user", "content": [{"text": text}]})


class GeminiBody(BlocksBody):
    """A body of Gemini's generateContent, whose calls have no ids."""

    history, role, content, call, result = "contents", "model", "parts", "functionCall", "functionResponse"
    result_id_path, arguments = "functionResponse.id", "functionCall.args"

    def set_tool_description(self, text: str) -> None:
        self.body["tools"][0]["functionDeclarations"][0]["description"] = text

    def drop_reasoning(self) -> bool:
        return bool([part for part in self.last_turn()["parts"] if part.pop("thoughtSignature", None)])


class ResponsesBody(ChatBody):
    """A body of the Responses API."""

    history, description, call_id_path, result_id_path = "input", "description", "call_id", "call_id"
    arguments, result = "arguments", "function_call_output"

    def _items(self, first: int, *kinds: str) -> list[At]:
        found = range(first, len(self.messages))
        return [(self.messages, n) for n in found if self.messages[n].get("type") in kinds]

    def calls(self) -> list[At]:
        """Return the calls after the results of the round before the last one."""
        last = self._items(0, "function_call")[-1][1]
        before = [n for _, n in self._items(0, self.result) if n < last]
        return self._items(max(before, default=0), "function_call")

    def results(self) -> list[At]:
        return self._items(self.calls()[-1][1], self.result)

    def drop_reasoning(self) -> bool:
        return _delete(self._items(0, "reasoning", "thought"))


class InteractionsBody(ResponsesBody):
    """A body of the Interactions API."""

    result, call_id_path, arguments_are_text = "function_result", "id", False

    def insert_user(self, text: str) -> None:
        messages, first = self.results()[0]
        messages.insert(first, {"type": "user_input", "content": [{"type": "text", "text": text}]})

    def set_question(self, text: str) -> None:
        asked = next(item for item in self.messages if item["type"] == "user_input")
        asked["content"] = [{"type": "text", "text": text}]


class XaiBody(ChatBody):
    """A request message of xAI's gRPC interface."""

    def calls(self) -> list[At]:
        last = [m for m in self.messages if m.role == chat_pb2.ROLE_ASSISTANT and m.tool_calls][-1]
        return [(last.tool_calls, n) for n in range(len(last.tool_calls))]

    def results(self) -> list[At]:
        first = max(n for n, m in enumerate(self.messages) if m.role == chat_pb2.ROLE_ASSISTANT)
        found = range(first, len(self.messages))
        return [(self.messages, n) for n in found if self.messages[n].role == chat_pb2.ROLE_TOOL]

    def insert_user(self, text: str) -> None:
        messages, first = self.results()[0]
        messages.insert(first, chat_pb2.Message(role=chat_pb2.ROLE_USER, content=[chat_pb2.Content(text=text)]))

    def set_question(self, text: str) -> None:
        next(m for m in self.messages if m.role == chat_pb2.ROLE_USER).content[0].text = text

    def drop_reasoning(self) -> bool:
        sealed = [m for m in self.messages if m.encrypted_content]
        for message in sealed:
            message.ClearField("encrypted_content")
        return bool(sealed)


BODIES: dict[str, type[ChatBody]] = {
    "openai.chat": ChatBody,
    "openai.responses": ResponsesBody,
    "anthropic.messages": AnthropicBody,
    "xai.grpc": XaiBody,
    "google.gemini": GeminiBody,
    "google.interactions": InteractionsBody,
    "bedrock.converse": ConverseBody,
    "cohere.chat": ChatBody,
    "ollama.chat": OllamaBody,
}
