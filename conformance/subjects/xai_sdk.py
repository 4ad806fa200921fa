"""The official xAI SDK: its response object, filled at once or chunk by chunk as the SDK's own streams do."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from xai_sdk.chat import Response
from xai_sdk.proto import chat_pb2
from xai_sdk.tools import get_tool_call_type

from . import SubjectExchange

#: The SDK's types of client calls. A call without a type is "invalid", which does not say whether the client runs it.
_CALLERS = ("client_side_tool", "invalid")


class XAISDK:
    """Reads the messages of the Chat service. It returns all calls and runs none."""

    name = "xai-sdk"
    version = metadata.version("xai-sdk")
    claims = frozenset(("stream", "text"))
    wires = frozenset(("xai.grpc",))

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        """Return the calls that the SDK does not classify as server calls, and the text."""
        if exchange.status >= 400:
            return {"error": exchange.body.decode("utf-8", "replace")}
        if exchange.stream:
            response = Response(chat_pb2.GetChatCompletionResponse(), None)
            for piece in exchange.pieces:
                response.process_chunk(chat_pb2.GetChatCompletionChunk.FromString(piece))
        else:
            response = Response(chat_pb2.GetChatCompletionResponse.FromString(exchange.body), None)
        calls = [
            {"id": call.id, "name": call.function.name, "arguments_text": call.function.arguments}
            for call in response.tool_calls
            if get_tool_call_type(call) in _CALLERS
        ]
        # The response of a stream that broke has the reason of a response that has not ended. The SDK raises no error.
        ended = response.finish_reason != "REASON_INVALID"
        return {"calls": calls, "text": response.content, "stop": None if ended else "unknown"}
