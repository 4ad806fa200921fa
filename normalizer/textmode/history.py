"""Conversion of histories between text mode and native calls.

Both directions work on the canonical conversation. `as_text` writes calls and results as text. `as_native` extracts
them from text, for the writers of native wires. Responses from `read_response` need no `as_native`, because their calls
are already canonical.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import json_codec
from ..conversation import Assistant, JsonPart, Loss, Message, Part, TextPart, ToolResult, ToolResults, User
from ..model import Block, Choice, Reasoning, Response, Stop, Text, ToolCall
from ..pairing import paired
from .block_builder import BlockBuilder
from .dialect import RAW, TextDialect, WrittenCall, WrittenResult, value_text
from .dialects import dialect_of
from .extract import read_with, settings_of
from .parsers.coercion import ToolSchemas, tool_schemas
from .scanner import Scanner


class TextHistory(Struct, frozen=True):
    """A converted history. ``losses``: the content that the target form cannot represent unchanged."""

    messages: list[Message]
    losses: list[Loss] = []


def as_text(turns: Sequence[Message], dialect: str, *, tools: Any = None) -> TextHistory:
    """Return the history with calls as text of assistant turns and results as text of user turns.

    ``tools``: the declared tools, as for `read_response`. A response that was extracted from text of this dialect and
    not changed since gets the original text back, byte for byte. A call without a result gets an error result. Raises
    UnknownDialect, and MalformedBody for values that are not tools.
    """
    losses: list[Loss] = []

    def mended(code: str, message: str, turn: int) -> None:
        losses.append(Loss(code, message, turn))

    writer = _Writer(dialect_of(dialect), tool_schemas(tools), losses)
    made: list[Message] = []
    for place, turn in enumerate(paired(turns, mended)):
        if isinstance(turn, Assistant):
            made.append(writer.assistant(turn, place))
        elif isinstance(turn, ToolResults):
            made.append(writer.results(turn, place))
        else:
            made.append(turn)
    return TextHistory(made, losses)


class _Writer:
    """Writer of the turns of one history, which keeps the tool name of each call id."""

    def __init__(self, form: TextDialect, tools: ToolSchemas, losses: list[Loss]) -> None:
        self._form = form
        self._tools = tools
        self._losses = losses
        self._calls: dict[str, str] = {}

    def assistant(self, turn: Assistant, place: int) -> Message:
        response = turn.response
        if not response.choices:
            return turn
        choice = response.choices[0]
        self._calls.update((call.id, call.name) for call in choice.calls)
        read = choice.extra.get("text_mode")
        if not choice.calls and read is None:
            return turn
        blocks = self._restored(choice, read) if isinstance(read, dict) else None
        if blocks is None:
            blocks = self._written(choice.blocks, isinstance(read, dict), place)
        extra = {key: value for key, value in choice.extra.items() if key != "text_mode"}
        said = Choice(choice.index, blocks, Stop("end_turn", choice.stop.raw), extra)
        return replace(turn, response=replace(response, choices=[said, *response.choices[1:]]))

    def _restored(self, choice: Choice, read: dict[str, Any]) -> list[Block] | None:
        """Return the blocks with the original texts; None if the blocks were changed or come from another dialect."""
        if read.get("dialect") != self._form.name:
            return None
        blocks: list[Block] = []
        at = 0
        for one in read["read"]:
            source = msgspec.convert(one["text"], Text)
            inside = choice.blocks[one["at"] : one["at"] + one["count"]]
            now = [(b.name, b.arguments_text) for b in inside if isinstance(b, ToolCall)]
            if now != self._reads(source.text, len(now)) or len(inside) < one["count"]:
                return None
            blocks += [*choice.blocks[at : one["at"]], source]
            at = one["at"] + one["count"]
        return [*blocks, *choice.blocks[at:]] if not any(isinstance(b, ToolCall) for b in choice.blocks[at:]) else None

    def _reads(self, text: str, limit: int | None) -> list[tuple[str, str]]:
        """Return name and argument text of each call that the dialect finds in a text."""
        scanner, made = Scanner((self._form,), self._tools, limit), BlockBuilder()
        made.take(scanner.feed(text))
        made.take(scanner.finish())
        return made.said

    def _written(self, given: list[Block], was_text: bool, place: int) -> list[Block]:
        blocks: list[Block] = []
        words: list[str] = []
        calls: list[ToolCall] = []
        for number, block in enumerate([*given, None]):
            if isinstance(block, ToolCall):
                calls.append(block)
                continue
            if calls:
                words.append(self._markup(calls, place, number))
                calls = []
            if isinstance(block, Text) and not block.extra and not block.annotations:
                words.append(block.text)
            elif isinstance(block, Reasoning) and was_text and not (block.signature or block.encrypted or block.extra):
                self._lose("reasoning", "thinking that stood in a changed text was left out", place, number)
            else:
                if words:
                    blocks.append(Text(_joined(words)))
                    words = []
                blocks += [] if block is None else [block]
        return blocks

    def _markup(self, calls: list[ToolCall], place: int, behind: int) -> str:
        written = [WrittenCall(c.id, c.name, c.arguments, c.arguments_text) for c in calls]
        text = self._form.write_calls(written)
        back = self._reads(text, None)
        for number, call in enumerate(calls):
            block = behind - len(calls) + number
            if call.arguments is None:
                self._lose("arguments", f"{call.name}: its arguments are no JSON object", place, block)
            elif number >= len(back) or not _alike(call, *back[number]):
                told = f"{call.name}: the dialect {self._form.name} has no way to say its arguments unmistakably"
                self._lose("arguments", told, place, block)
        return text

    def results(self, turn: ToolResults, place: int) -> Message:
        written: list[WrittenResult] = []
        beside: list[Part] = []
        for result in turn.results:
            texts = []
            for part in result.parts:
                if isinstance(part, TextPart):
                    texts.append(part.text)
                elif isinstance(part, JsonPart):
                    texts.append(json_codec.text(part.value))
                else:
                    beside.append(part)
            name = result.name or self._calls.get(result.call_id, "")
            written.append(WrittenResult(result.call_id, name, "\n".join(texts), result.is_error))
        text = self._form.write_results(written)
        back = [one for _, one, _ in self._form.parse_results(text) or ()]
        for number, one in enumerate(written):
            if len(back) != len(written) or back[number] not in (one.text, one.marked):
                told = f"the result of {one.name} holds what ends one in the dialect {self._form.name}"
                self._lose("result", told, place)
        return User([TextPart(text), *beside], plain=not beside)

    def _lose(self, code: str, message: str, turn: int, block: int | None = None) -> None:
        self._losses.append(Loss(code, message, turn, block))


def _joined(words: list[str]) -> str:
    """Concatenate text and markup, with a line feed between two parts if neither has one."""
    made = words[0]
    for one in words[1:]:
        made += one if made.endswith("\n") or one.startswith("\n") else f"\n{one}"
    return made


def _alike(call: ToolCall, name: str, text: str) -> bool:
    """Return whether a call that was read back equals the original; a value may come back as its text."""
    try:
        given = json_codec.decode(text)
    except ValueError:
        return False
    if name != call.name or not isinstance(given, dict) or call.arguments is None:
        return False
    expected = call.arguments or {}
    if RAW in given or given.keys() != expected.keys():
        return False
    return all(value == given[key] or _texts(value) == given[key] for key, value in expected.items())


def _texts(value: Any) -> Any:
    whole = isinstance(value, list) and len(value) > 1 and all(isinstance(one, str) for one in value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    return value if whole else value_text(value)


def as_native(turns: Sequence[Message], dialect: str, *, tools: Any = None) -> TextHistory:
    """Return the history with canonical calls and results instead of text in the dialect.

    ``tools``: the declared tools, as for `read_response`. Assistant text without calls stays text, and so does user
    text that does not consist of results of the preceding calls. Raises UnknownDialect, and MalformedBody for values
    that are not tools.
    """
    form, how = dialect_of(dialect), settings_of(dialect, tools, None, (), False)
    made: list[Message] = []
    waiting: list[ToolCall] = []
    for turn in turns:
        if isinstance(turn, Assistant):
            read = _bare(read_with(turn.response, how))
            waiting = list(read.calls)
            made.append(replace(turn, response=read) if read is not turn.response else turn)
        elif isinstance(turn, User) and waiting and (answers := _answers(turn, waiting, form)) is not None:
            made.append(answers)
            waiting = []
        else:
            waiting = [] if isinstance(turn, ToolResults) else waiting
            made.append(turn)
    return TextHistory(made)


def _bare(response: Response) -> Response:
    """Return the response without the original texts of its calls, which native wires do not use."""
    if not any("text_mode" in choice.extra for choice in response.choices):
        return response
    choices = [
        replace(choice, extra={key: value for key, value in choice.extra.items() if key != "text_mode"})
        for choice in response.choices
    ]
    return replace(response, choices=choices).with_findings(list(response.findings))


def _answers(turn: User, calls: list[ToolCall], form: TextDialect) -> ToolResults | None:
    """Return the results in the text of a user turn, each paired with its call; None if it does not hold results."""
    words = "".join(part.text for part in turn.parts if isinstance(part, TextPart))
    told = form.parse_results(words)
    if told is None or len(told) > len(calls):
        return None
    left = list(calls)
    results: list[ToolResult] = []
    for key, text, is_error in told:
        call = next((c for c in left if key in (c.id, c.name)), None) if key else left[0]
        if call is None:
            return None
        left.remove(call)
        parts: list[Part] = [TextPart(text)] if text else []
        results.append(ToolResult(call.id, parts, is_error, call.name))
    beside = [part for part in turn.parts if not isinstance(part, TextPart)]
    if beside:
        results[-1] = replace(results[-1], parts=[*results[-1].parts, *beside], plain=False)
    order = {call.id: place for place, call in enumerate(calls)}
    return ToolResults(sorted(results, key=lambda result: order[result.call_id]))
