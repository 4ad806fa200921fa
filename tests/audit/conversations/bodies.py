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


class ChatBody:
    """A body of Chat Completions."""

    def __init__(self, body: Any) -> None:
        self.body = copy.deepcopy(body)

    @property
    def messages(self) -> Any:
        return self.body["messages"]

    def keep(self, before: ChatBody, edited: ChatBody) -> None:
        """Keep an edit of an earlier request, as an agent does that remembers what it sent."""
        del self.messages[: len(before.messages)]
        for message in reversed(edited.messages):
            self.messages.insert(0, message)
        tools = self._tools()
        del tools[:]
        tools.extend(edited._tools())

    def _tools(self) -> Any:
        return self.body["tools"]

    def calls(self) -> list[At]:
        last = [m for m in self.messages if m["role"] == "assistant"][-1]
        return [(last["tool_calls"], n) for n in range(len(last.get("tool_calls") or ()))]

    def results(self) -> list[At]:
        first = max(n for n, m in enumerate(self.messages) if m["role"] == "assistant")
        return [(self.messages, n) for n in range(first, len(self.messages)) if self.messages[n]["role"] == "tool"]

    def call_id(self, call: At) -> str:
        return str(entry(call)["id"])

    def set_result_id(self, result: At, id: str) -> None:
        entry(result)["tool_call_id"] = id

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["function"]["arguments"] = f'{{"city":"{city}"}}'

    def insert_user(self, text: str) -> None:
        messages, first = self.results()[0]
        messages.insert(first, {"role": "user", "content": text})

    def set_question(self, text: str) -> None:
        next(m for m in self.messages if m["role"] == "user")["content"] = text

    def set_tool_description(self, text: str) -> None:
        self.body["tools"][0]["function"]["description"] = text

    def drop_reasoning(self) -> bool:
        return False


class OllamaBody(ChatBody):
    """A body of Ollama's chat API."""

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["function"]["arguments"] = {"city": city}

    def drop_reasoning(self) -> bool:
        thought = [m for m in self.messages if m.get("thinking")]
        for message in thought:
            del message["thinking"]
        return bool(thought)


class BlocksBody(ChatBody):
    """A body whose messages have blocks. The kinds are members, or values of the member ``type``."""

    role, content, call, result = "assistant", "content", "", ""

    def _blocks(self, message: Any, kind: str) -> list[At]:
        blocks = message[self.content]
        return [(blocks, n) for n, block in enumerate(blocks) if kind in block or block.get("type") == kind]

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

    def drop_blocks(self, *kinds: str) -> bool:
        blocks = self.last_turn()[self.content]
        dropped = [n for n, block in enumerate(blocks) if {*kinds} & {*block, block.get("type")}]
        for number in reversed(dropped):
            del blocks[number]
        return bool(dropped)


class AnthropicBody(BlocksBody):
    """A body of the Messages API."""

    call, result = "tool_use", "tool_result"

    def set_result_id(self, result: At, id: str) -> None:
        entry(result)["tool_use_id"] = id

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["input"] = {"city": city}

    def insert_user(self, text: str) -> None:
        self.messages[-1]["content"].insert(0, {"type": "text", "text": text})

    def set_question(self, text: str) -> None:
        ChatBody.set_question(self, text)

    def set_tool_description(self, text: str) -> None:
        self.body["tools"][0]["description"] = text

    def drop_reasoning(self) -> bool:
        return self.drop_blocks("thinking", "redacted_thinking")


class ResponsesBody(ChatBody):
    """A body of the Responses API."""

    call, result, id = "function_call", "function_call_output", "call_id"

    @property
    def messages(self) -> Any:
        return self.body["input"]

    def _items(self, first: int, kind: str) -> list[At]:
        found = range(first, len(self.messages))
        return [(self.messages, n) for n in found if self.messages[n].get("type") == kind]

    def calls(self) -> list[At]:
        """Return the calls after the results of the round before the last one."""
        last = self._items(0, self.call)[-1][1]
        before = [n for _, n in self._items(0, self.result) if n < last]
        return self._items(max(before, default=0), self.call)

    def results(self) -> list[At]:
        return self._items(self.calls()[-1][1], self.result)

    def call_id(self, call: At) -> str:
        return str(entry(call)[self.id])

    def set_result_id(self, result: At, id: str) -> None:
        entry(result)["call_id"] = id

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["arguments"] = f'{{"city":"{city}"}}'

    def set_tool_description(self, text: str) -> None:
        self.body["tools"][0]["description"] = text

    def drop_reasoning(self) -> bool:
        kinds = ("reasoning", "thought")
        dropped = [n for n, item in enumerate(self.messages) if item.get("type") in kinds]
        for number in reversed(dropped):
            del self.messages[number]
        return bool(dropped)


class InteractionsBody(ResponsesBody):
    """A body of the Interactions API."""

    result, id = "function_result", "id"

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["arguments"] = {"city": city}

    def insert_user(self, text: str) -> None:
        messages, first = self.results()[0]
        messages.insert(first, {"type": "user_input", "content": [{"type": "text", "text": text}]})

    def set_question(self, text: str) -> None:
        asked = next(item for item in self.messages if item["type"] == "user_input")
        asked["content"] = [{"type": "text", "text": text}]


class XaiBody(ChatBody):
    """A request message of xAI's gRPC interface."""

    @property
    def messages(self) -> Any:
        return self.body.messages

    def _tools(self) -> Any:
        return self.body.tools

    def calls(self) -> list[At]:
        last = [m for m in self.messages if m.role == chat_pb2.ROLE_ASSISTANT and m.tool_calls][-1]
        return [(last.tool_calls, n) for n in range(len(last.tool_calls))]

    def results(self) -> list[At]:
        first = max(n for n, m in enumerate(self.messages) if m.role == chat_pb2.ROLE_ASSISTANT)
        found = range(first, len(self.messages))
        return [(self.messages, n) for n in found if self.messages[n].role == chat_pb2.ROLE_TOOL]

    def call_id(self, call: At) -> str:
        return str(entry(call).id)

    def set_result_id(self, result: At, id: str) -> None:
        entry(result).tool_call_id = id

    def set_arguments(self, call: At, city: str) -> None:
        entry(call).function.arguments = f'{{"city":"{city}"}}'

    def set_question(self, text: str) -> None:
        next(m for m in self.messages if m.role == chat_pb2.ROLE_USER).content[0].text = text

    def set_tool_description(self, text: str) -> None:
        self.body.tools[0].function.description = text

    def drop_reasoning(self) -> bool:
        sealed = [m for m in self.messages if m.encrypted_content]
        for message in sealed:
            message.ClearField("encrypted_content")
        return bool(sealed)


class ConverseBody(BlocksBody):
    """A body of Bedrock's Converse."""

    call, result = "toolUse", "toolResult"

    def _tools(self) -> Any:
        return self.body["toolConfig"]["tools"]

    def call_id(self, call: At) -> str:
        return str(entry(call)["toolUse"]["toolUseId"])

    def set_result_id(self, result: At, id: str) -> None:
        entry(result)["toolResult"]["toolUseId"] = id

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["toolUse"]["input"] = {"city": city}

    def insert_user(self, text: str) -> None:
        self.messages.insert(len(self.messages) - 1, {"role": "user", "content": [{"text": text}]})

    def set_tool_description(self, text: str) -> None:
        self._tools()[0]["toolSpec"]["description"] = text

    def drop_reasoning(self) -> bool:
        return self.drop_blocks("reasoningContent")


class GeminiBody(BlocksBody):
    """A body of Gemini's generateContent, whose calls have no ids."""

    role, content, call, result = "model", "parts", "functionCall", "functionResponse"

    @property
    def messages(self) -> Any:
        return self.body["contents"]

    def set_result_id(self, result: At, id: str) -> None:
        entry(result)["functionResponse"]["id"] = id

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["functionCall"]["args"] = {"city": city}

    def set_tool_description(self, text: str) -> None:
        self.body["tools"][0]["functionDeclarations"][0]["description"] = text

    def drop_reasoning(self) -> bool:
        return bool([part for part in self.last_turn()["parts"] if part.pop("thoughtSignature", None)])


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
