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


class AnthropicBody(ChatBody):
    """A body of the Messages API."""

    def calls(self) -> list[At]:
        last = [m for m in self.messages if m["role"] == "assistant"][-1]["content"]
        return [(last, n) for n, block in enumerate(last) if block["type"] == "tool_use"]

    def results(self) -> list[At]:
        last = self.messages[-1]["content"]
        return [(last, n) for n, block in enumerate(last) if block["type"] == "tool_result"]

    def set_result_id(self, result: At, id: str) -> None:
        entry(result)["tool_use_id"] = id

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["input"] = {"city": city}

    def insert_user(self, text: str) -> None:
        self.messages[-1]["content"].insert(0, {"type": "text", "text": text})

    def set_tool_description(self, text: str) -> None:
        self.body["tools"][0]["description"] = text

    def drop_reasoning(self) -> bool:
        last = [m for m in self.messages if m["role"] == "assistant"][-1]
        kept = [block for block in last["content"] if block["type"] not in ("thinking", "redacted_thinking")]
        dropped = len(kept) < len(last["content"])
        last["content"] = kept
        return dropped


class ResponsesBody(ChatBody):
    """A body of the Responses API."""

    @property
    def messages(self) -> Any:
        return self.body["input"]

    def _round(self) -> int:
        """Return the index after the results of the round before the last one."""
        first = max(n for n, item in enumerate(self.messages) if item.get("type") == "function_call")
        while self.messages[first].get("type") != "function_call_output" and first:
            first -= 1
        return first

    def calls(self) -> list[At]:
        found = range(self._round(), len(self.messages))
        return [(self.messages, n) for n in found if self.messages[n].get("type") == "function_call"]

    def results(self) -> list[At]:
        first = self.calls()[-1][1]
        found = range(first, len(self.messages))
        return [(self.messages, n) for n in found if self.messages[n].get("type") == "function_call_output"]

    def call_id(self, call: At) -> str:
        return str(entry(call)["call_id"])

    def set_result_id(self, result: At, id: str) -> None:
        entry(result)["call_id"] = id

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["arguments"] = f'{{"city":"{city}"}}'

    def set_tool_description(self, text: str) -> None:
        self.body["tools"][0]["description"] = text

    def drop_reasoning(self) -> bool:
        sealed = [n for n, item in enumerate(self.messages) if item.get("encrypted_content")]
        for number in reversed(sealed):
            del self.messages[number]
        return bool(sealed)


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


class InteractionsBody(ResponsesBody):
    """A body of the Interactions API."""

    def _round(self) -> int:
        first = max(n for n, item in enumerate(self.messages) if item["type"] == "function_call")
        while self.messages[first]["type"] != "function_result" and first:
            first -= 1
        return first

    def results(self) -> list[At]:
        first = self.calls()[-1][1]
        found = range(first, len(self.messages))
        return [(self.messages, n) for n in found if self.messages[n]["type"] == "function_result"]

    def call_id(self, call: At) -> str:
        return str(entry(call)["id"])

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["arguments"] = {"city": city}

    def insert_user(self, text: str) -> None:
        messages, first = self.results()[0]
        messages.insert(first, {"type": "user_input", "content": [{"type": "text", "text": text}]})

    def set_question(self, text: str) -> None:
        asked = next(item for item in self.messages if item["type"] == "user_input")
        asked["content"] = [{"type": "text", "text": text}]

    def drop_reasoning(self) -> bool:
        thoughts = [n for n, item in enumerate(self.messages) if item["type"] == "thought"]
        for number in reversed(thoughts):
            del self.messages[number]
        return bool(thoughts)


class ConverseBody(ChatBody):
    """A body of Bedrock's Converse."""

    def _tools(self) -> Any:
        return self.body["toolConfig"]["tools"]

    def calls(self) -> list[At]:
        last = [m for m in self.messages if m["role"] == "assistant"][-1]["content"]
        return [(last, n) for n, block in enumerate(last) if "toolUse" in block]

    def results(self) -> list[At]:
        last = self.messages[-1]["content"]
        return [(last, n) for n, block in enumerate(last) if "toolResult" in block]

    def call_id(self, call: At) -> str:
        return str(entry(call)["toolUse"]["toolUseId"])

    def set_result_id(self, result: At, id: str) -> None:
        entry(result)["toolResult"]["toolUseId"] = id

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["toolUse"]["input"] = {"city": city}

    def insert_user(self, text: str) -> None:
        self.messages.insert(len(self.messages) - 1, {"role": "user", "content": [{"text": text}]})

    def set_question(self, text: str) -> None:
        next(m for m in self.messages if m["role"] == "user")["content"] = [{"text": text}]

    def set_tool_description(self, text: str) -> None:
        self._tools()[0]["toolSpec"]["description"] = text

    def drop_reasoning(self) -> bool:
        last = [m for m in self.messages if m["role"] == "assistant"][-1]
        kept = [block for block in last["content"] if "reasoningContent" not in block]
        dropped = len(kept) < len(last["content"])
        last["content"] = kept
        return dropped


class GeminiBody(ChatBody):
    """A body of Gemini's generateContent, whose calls have no ids."""

    @property
    def messages(self) -> Any:
        return self.body["contents"]

    def calls(self) -> list[At]:
        last = [m for m in self.messages if m["role"] == "model"][-1]["parts"]
        return [(last, n) for n, part in enumerate(last) if "functionCall" in part]

    def results(self) -> list[At]:
        last = self.messages[-1]["parts"]
        return [(last, n) for n, part in enumerate(last) if "functionResponse" in part]

    def set_result_id(self, result: At, id: str) -> None:
        entry(result)["functionResponse"]["id"] = id

    def set_arguments(self, call: At, city: str) -> None:
        entry(call)["functionCall"]["args"] = {"city": city}

    def insert_user(self, text: str) -> None:
        self.messages[-1]["parts"].insert(0, {"text": text})

    def set_question(self, text: str) -> None:
        next(m for m in self.messages if m["role"] == "user")["parts"] = [{"text": text}]

    def set_tool_description(self, text: str) -> None:
        self.body["tools"][0]["functionDeclarations"][0]["description"] = text

    def drop_reasoning(self) -> bool:
        last = [m for m in self.messages if m["role"] == "model"][-1]["parts"]
        signed = [part for part in last if part.pop("thoughtSignature", None)]
        return bool(signed)


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
