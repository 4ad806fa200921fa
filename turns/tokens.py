"""Counts the tokens of requests and answers: for context budgets, and for answers whose usage is not reported."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from toolparity.normalizer import json_codec
from toolparity.normalizer.conversation import (
    Assistant,
    MediaPart,
    Message,
    Part,
    RawItem,
    Request,
    TextPart,
    ToolResults,
)
from toolparity.normalizer.model import Block, Response, ToolCall, Usage

from .execution.exceptions import described, is_failure

_log = logging.getLogger("toolparity")

#: Returns the number of tokens of a text.
Counter = Callable[[str], int]
#: The tokens of an image or a document, whose data is not text.
_MEDIA = 1_000
#: The number of conversations whose last messages are remembered. Turns that run at once can share a `TokenCounter`.
_CONVERSATIONS = 64


def estimated(text: str) -> int:
    """Estimate the tokens of a text at four characters each, which is too low for scripts other than Latin."""
    return -(-len(text) // 4)


class TokenCounter:
    """Counts tokens. ``count``: returns those of a text; `estimated` replaces it where it raises or returns no number.

    Messages do not change, so each message of a growing conversation is counted once, not again in every round.
    """

    def __init__(self, count: Counter = estimated) -> None:
        self._count = count
        # By identity of the first message: the messages of the last request, by identity, with their tokens.
        self._known: dict[int, dict[int, tuple[Message, int]]] = {}

    def text(self, text: str) -> int:
        """Return the number of tokens of a text. Tokenizers reject texts that contain their special tokens."""
        try:
            tokens = math.ceil(self._count(text))
            if tokens < 0:
                raise ValueError(f"a number of tokens must be >= 0, got {tokens}")
            return tokens
        except BaseException as error:
            if not is_failure(error):
                raise
            _log.warning("the counter of tokens failed: %s", described(error))
            return estimated(text)

    def message(self, message: Message) -> int:
        """Return the number of tokens of one message."""
        return sum(map(self.text, _texts(message))) + _MEDIA * sum(
            isinstance(part, MediaPart) for part in _parts(message)
        )

    def request(self, request: Request, *, grows: bool = True) -> int:
        """Return the number of tokens of the request: its tools and its messages.

        ``grows``: the next request of the conversation contains these messages, too.
        """
        tools = [json_codec.text([tool.name, tool.description, tool.parameters]) for tool in request.tools]
        messages = request.messages
        return sum(map(self.text, tools)) + (
            self._conversation(messages) if grows else sum(map(self.message, messages))
        )

    def _conversation(self, messages: Sequence[Message]) -> int:
        if not messages:
            return 0
        known = self._known.pop(id(messages[0]), {})  # it holds the messages, so their identities are not reused
        weighed = [known.get(id(message)) or (message, self.message(message)) for message in messages]
        self._known[id(messages[0])] = {id(message): (message, tokens) for message, tokens in weighed}
        if len(self._known) > _CONVERSATIONS:
            del self._known[next(iter(self._known))]
        return sum(tokens for _, tokens in weighed)


def with_estimate(response: Response, request: Request, counter: TokenCounter, *, cut: bool = False) -> Response:
    """Return an answer with estimates of the tokens that the provider did not report (`Usage.estimated`).

    ``cut``: the answer ended before the provider could report the whole usage, so that its content counts if it is
    more. An answer without content that failed has used nothing.
    """
    reported = response.usage if response.usage is not None else Usage()
    asked, written = reported.input_tokens, reported.output_tokens
    has_content = any(choice.blocks for choice in response.choices)
    if not has_content and (response.error is not None or not response.complete):
        return response
    if written is None or cut:
        written = max(written or 0, counter.message(Assistant(response)))
    if asked is None:
        asked = counter.request(request)
    if (asked, written) == (reported.input_tokens, reported.output_tokens):
        return response
    usage = replace(reported, input_tokens=asked, output_tokens=written, estimated=True)
    return replace(response, usage=usage).with_findings(list(response.findings))


def blocks_of(message: Message) -> list[Block]:
    """Return the blocks of the first choice, an empty list for messages other than answers."""
    choices = message.response.choices if isinstance(message, Assistant) else []
    return choices[0].blocks if choices else []


def _texts(message: Message) -> list[str]:
    """Return the texts that a message consists of, and the JSON of everything else in it."""
    if isinstance(message, Assistant):
        choices = message.response.choices
        # In text mode, the texts of the model, from which the blocks were read.
        sources = choices[0].extra.get("text_mode", {}).get("read", ()) if choices else ()
        texts = [source["text"]["text"] for source in sources]
        covered = {source["at"] + number for source in sources for number in range(source["count"])}
        for index, block in enumerate(blocks_of(message)):
            if index in covered:
                continue
            text = block.name + block.arguments_text if isinstance(block, ToolCall) else getattr(block, "text", None)
            texts.append(json_codec.text(block) if text is None else text)
        return texts
    if isinstance(message, RawItem):
        return [json_codec.text(message.raw)]
    parts = [replace(part, data=None) if isinstance(part, MediaPart) else part for part in _parts(message)]
    return [part.text if isinstance(part, TextPart) else json_codec.text(part) for part in parts]


def _parts(message: Message) -> list[Part]:
    if isinstance(message, (Assistant, RawItem)):
        return []
    return [
        part for each in (message.results if isinstance(message, ToolResults) else [message]) for part in each.parts
    ]
