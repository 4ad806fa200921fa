"""Conversion of histories between text mode and native calls.

Both directions work on the canonical conversation. `as_text` writes calls and results as text. `as_native` extracts
them from text, for the writers of native wires. Responses from `read_response` need no `as_native`, because their calls
are already canonical.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from .. import json_codec
from ..conversation import Assistant, JsonPart, Loss, Message, Part, TextPart, ToolResult, ToolResults, User
from ..model import Block, Choice, Reasoning, Response, Stop, Text, ToolCall
from ..pairing import paired
from .dialect import RAW, TextDialect, WrittenCall, WrittenResult, value_text
from .dialects import dialect_of
from .extract import read_with, settings_of
from .parsers.coercion import ToolSchemas, tool_schemas
from .scanner import Scanner


class TextHistory(Struct, frozen=True):
    """A converted history. ``losses``: the content that the target form cannot represent unchanged."""

    messages: list[Message]
    losses: list[Loss] = []


def as_text(messages: Sequence[Message], dialect: str, *, tools: Any = None) -> TextHistory:
    """Return the history with calls as text of assistant turns and results as text of user turns.

    ``tools``: the declared tools, as for `read_response`. A response that was extracted from text of this dialect and
    not changed since gets the original text back, byte for byte. A call without a result gets an error result. Raises
    UnknownDialect, and MalformedBody for values that are not tools.
    """
    losses: list[Loss] = []
    writer = _Writer(dialect_of(dialect), tool_schemas(tools), losses)
    complete = paired(messages, lambda code, text, index: losses.append(Loss(code, text, index)))
    return TextHistory([writer.write(message, index) for index, message in enumerate(complete)], losses)


class _Writer:
    """Writer of the turns of one history, which keeps the tool name of each call id."""

    def __init__(self, dialect: TextDialect, tools: ToolSchemas, losses: list[Loss]) -> None:
        self._dialect = dialect
        self._tools = tools
        self._losses = losses
        self._calls: dict[str, str] = {}

    def write(self, message: Message, index: int) -> Message:
        if isinstance(message, Assistant):
            return self._assistant(message, index)
        return self._results(message, index) if isinstance(message, ToolResults) else message

    def _assistant(self, message: Assistant, index: int) -> Message:
        response = message.response
        if not response.choices:
            return message
        choice = response.choices[0]
        self._calls.update((call.id, call.name) for call in choice.calls)
        read = choice.extra.get("text_mode")
        if not choice.calls and read is None:
            return message
        blocks = self._restored(choice, read) if isinstance(read, dict) else None
        if blocks is None:
            blocks = self._written(choice.blocks, isinstance(read, dict), index)
        extra = {key: value for key, value in choice.extra.items() if key != "text_mode"}
        written = Choice(choice.index, blocks, Stop("end_turn", choice.stop.raw), extra)
        return replace(message, response=replace(response, choices=[written, *response.choices[1:]]))

    def _restored(self, choice: Choice, read: dict[str, Any]) -> list[Block] | None:
        """Return the blocks with the original texts; None if the blocks were changed or come from another dialect."""
        if read.get("dialect") != self._dialect.name:
            return None
        blocks: list[Block] = []
        at = 0
        for entry in read["read"]:
            source = json_codec.convert(entry["text"], Text)
            end = entry["at"] + entry["count"]
            extracted = choice.blocks[entry["at"] : end]
            calls = [(block.name, block.arguments_text) for block in extracted if isinstance(block, ToolCall)]
            if calls != self._calls_in(source.text, len(calls)) or len(extracted) < entry["count"]:
                return None
            blocks += [*choice.blocks[at : entry["at"]], source]
            at = end
        return [*blocks, *choice.blocks[at:]] if not any(isinstance(b, ToolCall) for b in choice.blocks[at:]) else None

    def _calls_in(self, text: str, limit: int | None) -> list[tuple[str, str]]:
        """Return name and argument text of each call that the dialect finds in a text."""
        return Scanner((self._dialect,), self._tools, limit).scan(text).names_and_arguments

    def _written(self, source_blocks: list[Block], was_text: bool, index: int) -> list[Block]:
        blocks: list[Block] = []
        words: list[str] = []
        calls: list[ToolCall] = []
        for number, block in enumerate([*source_blocks, None]):
            if isinstance(block, ToolCall):
                calls.append(block)
                continue
            if calls:
                words.append(self._markup(calls, index, number))
                calls = []
            if isinstance(block, Text) and not block.extra and not block.annotations:
                words.append(block.text)
            elif isinstance(block, Reasoning) and was_text and not (block.signature or block.encrypted or block.extra):
                self._lose("reasoning", "reasoning in a changed text was omitted", index, number)
            else:
                if words:
                    blocks.append(Text(_joined(words)))
                    words = []
                blocks += [] if block is None else [block]
        return blocks

    def _markup(self, calls: list[ToolCall], index: int, after: int) -> str:
        written = [WrittenCall(c.id, c.name, c.arguments, c.arguments_text) for c in calls]
        text = self._dialect.write_calls(written)
        read_back = self._calls_in(text, None)
        for number, call in enumerate(calls):
            block = after - len(calls) + number
            if call.arguments is None:
                self._lose("arguments", f"{call.name}: its arguments are not a JSON object", index, block)
            elif number >= len(read_back) or not _alike(call, *read_back[number]):
                problem = f"{call.name}: the dialect {self._dialect.name} cannot represent its arguments unambiguously"
                self._lose("arguments", problem, index, block)
        return text

    def _results(self, message: ToolResults, index: int) -> Message:
        written: list[WrittenResult] = []
        others: list[Part] = []
        for result in message.results:
            texts = []
            for part in result.parts:
                if isinstance(part, TextPart):
                    texts.append(part.text)
                elif isinstance(part, JsonPart):
                    texts.append(json_codec.text(part.value))
                else:
                    others.append(part)
            name = result.name or self._calls.get(result.call_id, "")
            written.append(WrittenResult(result.call_id, name, "\n".join(texts), result.is_error))
        text = self._dialect.write_results(written)
        parsed = [text for _, text, _ in self._dialect.parse_results(text) or ()]
        for number, one in enumerate(written):
            if len(parsed) != len(written) or parsed[number] not in (one.text, one.marked):
                problem = f"the result of {one.name} contains a closing tag of the dialect {self._dialect.name}"
                self._lose("result", problem, index)
        return User([TextPart(text), *others], plain=not others)

    def _lose(self, code: str, text: str, index: int, block: int | None = None) -> None:
        self._losses.append(Loss(code, text, index, block))


def _joined(words: list[str]) -> str:
    """Concatenate text and markup, with a line feed between two parts if neither has one."""
    text = words[0]
    for part in words[1:]:
        text += part if text.endswith("\n") or part.startswith("\n") else f"\n{part}"
    return text


def _alike(call: ToolCall, name: str, text: str) -> bool:
    """Return whether a call that was read back equals the original; a value may come back as its text."""
    try:
        parsed = json_codec.decode(text)
    except ValueError:
        return False
    expected = call.arguments
    if name != call.name or not isinstance(parsed, dict) or expected is None:
        return False
    if RAW in parsed or parsed.keys() != expected.keys():
        return False
    return all(parsed[key] in (value, _as_text(value)) for key, value in expected.items())


def _as_text(value: Any) -> Any:
    """Return the form in which a value comes back if its type is unknown: its text, or a list of several texts."""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return value if len(value) > 1 else value[0]
    return value_text(value)


def as_native(messages: Sequence[Message], dialect: str, *, tools: Any = None) -> TextHistory:
    """Return the history with canonical calls and results instead of text in the dialect.

    ``tools``: the declared tools, as for `read_response`. Assistant text without calls stays text, and so does user
    text that does not consist of results of the preceding calls. Raises UnknownDialect, and MalformedBody for values
    that are not tools.
    """
    form, settings = dialect_of(dialect), settings_of(dialect, tools, None, (), False)
    native: list[Message] = []
    unanswered: list[ToolCall] = []
    for message in messages:
        results = _results(message, unanswered, form) if isinstance(message, User) and unanswered else None
        if isinstance(message, Assistant):
            response = _without_sources(read_with(message.response, settings))
            unanswered = list(response.calls)
            native.append(replace(message, response=response) if response is not message.response else message)
            continue
        if results is not None or isinstance(message, ToolResults):
            unanswered = []
        native.append(message if results is None else results)
    return TextHistory(native)


def _without_sources(response: Response) -> Response:
    """Return the response without the original texts of its calls, which native wires do not use."""
    if not any("text_mode" in choice.extra for choice in response.choices):
        return response
    choices = [
        replace(choice, extra={key: value for key, value in choice.extra.items() if key != "text_mode"})
        for choice in response.choices
    ]
    return replace(response, choices=choices).with_findings(list(response.findings))


def _results(message: User, calls: list[ToolCall], dialect: TextDialect) -> ToolResults | None:
    """Return the results in the text of a user turn, each paired with its call; None if it does not hold results."""
    parsed = dialect.parse_results("".join(part.text for part in message.parts if isinstance(part, TextPart)))
    if parsed is None or len(parsed) > len(calls):
        return None
    unanswered = list(calls)
    results: list[ToolResult] = []
    for key, text, is_error in parsed:
        call = next((c for c in unanswered if key in (c.id, c.name)), None) if key else unanswered[0]
        if call is None:
            return None
        unanswered.remove(call)
        parts: list[Part] = [TextPart(text)] if text else []
        results.append(ToolResult(call.id, parts, is_error, call.name))
    others = [part for part in message.parts if not isinstance(part, TextPart)]
    if others:
        results[-1] = replace(results[-1], parts=[*results[-1].parts, *others], plain=False)
    order = {call.id: index for index, call in enumerate(calls)}
    return ToolResults(sorted(results, key=lambda result: order[result.call_id]))
