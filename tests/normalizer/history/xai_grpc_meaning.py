"""When two GetCompletionsRequests mean the same.

Protobuf knows no key order and no absent members beside unset ones, so messages are compared as they are. The
equivalences, each with its reason:

* a tool message without ``tool_call_id`` = one with the id of the call whose turn it is: so xAI pairs them;
* a message without content = one with an empty text: both say nothing, and xAI refuses the first.

After erasing (`erased`), which message of one answer a block came from is not known any more: messages of the
assistant that follow each other count as one, its texts joined.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from xai_sdk.proto import chat_pb2

from toolparity.normalizer.conversation import Assistant, Message, Request
from toolparity.normalizer.model import Block, Opaque

ASSISTANT, TOOL = chat_pb2.ROLE_ASSISTANT, chat_pb2.ROLE_TOOL


def meaning(request: Any, *, erased: bool = False) -> Any:
    """The request without what makes no difference."""
    plain = chat_pb2.GetCompletionsRequest()
    plain.CopyFrom(request)
    waiting: list[str] = []
    for message in plain.messages:
        if not message.content:
            message.content.add(text="")
        client = [call.id for call in message.tool_calls if call.type == chat_pb2.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL]
        if message.role == ASSISTANT and client:
            waiting = client
        elif message.role == TOOL and waiting and not message.tool_calls:
            message.tool_call_id = message.tool_call_id or waiting[0]
            if message.tool_call_id in waiting:
                waiting.remove(message.tool_call_id)
    return _joined(plain) if erased else plain


def _joined(request: Any) -> Any:
    messages: list[Any] = []
    for message in request.messages:
        if message.role == ASSISTANT and messages and messages[-1].role == ASSISTANT:
            before = messages[-1]
            text = "".join(part.text for part in [*before.content, *message.content])
            before.MergeFrom(message)
            del before.content[:]
            before.content.add(text=text)
        else:
            messages.append(chat_pb2.Message())
            messages[-1].CopyFrom(message)
    del request.messages[:]
    request.messages.extend(messages)
    return request


def erased(request: Request) -> Request:
    """The request with ``extra`` gone from every choice and every block of a known type."""
    return replace(request, messages=[_turn(turn) for turn in request.messages])


def _turn(turn: Message) -> Message:
    if not isinstance(turn, Assistant):
        return turn
    choices = [
        replace(choice, blocks=[_block(block) for block in choice.blocks], extra={}) for choice in turn.response.choices
    ]
    return Assistant(replace(turn.response, choices=choices))


def _block(block: Block) -> Block:
    # A ServerToolResult keeps its ``raw``: the result of the call is nowhere else.
    return block if isinstance(block, Opaque) else replace(block, extra={})
