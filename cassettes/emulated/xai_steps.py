"""The outputs of an answer of xAI's Chat service, one step each: text and calls up to the next server tool result.

Server calls end a step. Each of their results takes an output index, even if the response does not include it, and the
answer continues under the index after them. Source: recorded responses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from xai_sdk.proto import chat_pb2, usage_pb2

from toolparity.normalizer import json_codec
from toolparity.normalizer.wires.xai_grpc.schema import SERVER_TYPES

from ..scripts import Part, Refuse, Say, ScriptedCall, ServerCall, Think
from .script_player import Play, tokens

#: Models that return their reasoning text; the others only count its tokens.
_SHOWING = ("grok-3-mini", "grok-4.3", "grok-4.5", "grok-4.6", "grok-code")
#: Models of the newest generation, whose format differs in some members.
_NEWEST = ("grok-4.3", "grok-4.5", "grok-4.6")
#: Server tool -> the function name in its calls, if they differ.
_NAMES = {"x_search": "x_keyword_search"}
#: Ticks per token of fresh input, cached input and output, and per server call. A tick is 1e-10 dollars.
_PRICES = (2_000, 500, 5_000, 50_000_000)
_FIGURES = "0123456789"
_COMPLETED: int = chat_pb2.TOOL_CALL_STATUS_COMPLETED
_FAILED: int = chat_pb2.TOOL_CALL_STATUS_FAILED


class OutputStep(Struct):
    """One output. ``index``: its output index. ``parts``: the parts, each with its index in the answer."""

    index: int
    parts: list[tuple[int, Part]]

    @property
    def served(self) -> list[tuple[int, ServerCall]]:
        """The server calls, each with its index in the answer."""
        return [(place, part) for place, part in self.parts if isinstance(part, ServerCall)]

    @property
    def calls(self) -> list[ScriptedCall]:
        """The client calls."""
        return [part for _, part in self.parts if isinstance(part, ScriptedCall)]

    @property
    def said(self) -> str:
        """The text for the user, refusals included."""
        return "".join(part.text for _, part in self.parts if isinstance(part, (Say, Refuse)))

    @property
    def thought(self) -> str:
        """The reasoning text that is not withheld."""
        return "".join(part.text for _, part in self.parts if isinstance(part, Think) and not part.withheld)


def steps(parts: Iterable[Part]) -> list[OutputStep]:
    """Return the steps of an answer. If its last step has server calls and no client calls, an empty step follows."""
    outputs = [OutputStep(0, [])]
    for place, part in enumerate(parts):
        served = len(outputs[-1].served)
        if served and not isinstance(part, ServerCall):
            outputs.append(OutputStep(outputs[-1].index + served + 1, []))
        outputs[-1].parts.append((place, part))
    if outputs[-1].served and not outputs[-1].calls:
        outputs.append(OutputStep(outputs[-1].index + len(outputs[-1].served) + 1, []))
    return outputs


def newest(play: Play) -> bool:
    """Return whether the model belongs to the newest generation."""
    return play.model.startswith(_NEWEST)


def shows(play: Play) -> bool:
    """Return whether the model returns its reasoning text."""
    return play.model.startswith(_SHOWING)


def reasons(play: Play) -> bool:
    """Return whether the model reasons before it answers."""
    return "non-reasoning" not in play.model


def included(play: Play, part: ServerCall) -> bool:
    """Return whether the request asks for the result of this server call (``include``)."""
    name = f"INCLUDE_OPTION_{part.tool.upper()}_CALL_OUTPUT"
    return any(chat_pb2.IncludeOption.Name(option) == name for option in play.body.include)


def tool_call(play: Play, place: int, part: ScriptedCall | ServerCall, status: int) -> Any:
    """Return a call as a protobuf message. ``place``: the part's index in the answer. ``status``: a ToolCallStatus."""
    served = isinstance(part, ServerCall)
    scripted_id = part.id if isinstance(part, ScriptedCall) else None
    new_id = (
        f"call-{play.uuid('calls')}-{place}"
        if newest(play)
        else "call_" + play.id(f"call {place}", 8, alphabet=_FIGURES)
    )
    return chat_pb2.ToolCall(
        id=new_id if scripted_id is None else scripted_id,
        type=SERVER_TYPES[part.tool] if served else chat_pb2.TOOL_CALL_TYPE_CLIENT_SIDE_TOOL,
        status=status,
        error_message=part.failed if served and status == _FAILED else None,
        function=chat_pb2.FunctionCall(
            name=_NAMES.get(part.tool, part.tool) if served else part.tool,
            arguments=json_codec.text(part.arguments) if isinstance(part, ServerCall) else part.text,
        ),
    )


def outcome(part: ServerCall) -> int:
    """Return the final ToolCallStatus of a server call."""
    return _COMPLETED if part.failed is None else _FAILED


def result(play: Play, place: int, part: ServerCall) -> dict[str, Any]:
    """Return the members of the message with a server call's result: code output as text, search hits encrypted."""
    members: dict[str, Any] = {
        "role": chat_pb2.ROLE_TOOL,
        "tool_calls": [tool_call(play, place, part, outcome(part))],
    }
    if part.tool == "code_execution":
        printed = {"stdout": part.output or "", "stderr": "", "output_files": {}, "error": part.failed or "", "ret": ""}
        members["content"] = json_codec.text(printed)
    elif part.hits:
        members["encrypted_content"] = play.opaque(f"found {place}", 1500)
        if newest(play):
            members["citations"] = [
                chat_pb2.InlineCitation(web_citation=chat_pb2.WebCitation(url=hit.url)) for hit in part.hits
            ]
    return members


class TokenMeter:
    """Counts the tokens of an answer while it is built."""

    def __init__(self, play: Play) -> None:
        self._input = play.usage().input
        self._thought = 0
        self._written = 0
        self._tools: list[int] = []

    def think(self, text: str) -> None:
        self._thought += tokens(text)

    def write(self, text: str) -> None:
        self._written += tokens(text)

    def run(self, part: ServerCall) -> None:
        """Count a server call and the input tokens of its result."""
        self._input += sum(tokens(hit.text) for hit in part.hits) + tokens(part.output or "")
        self._tools.append(usage_pb2.ServerSideTool.Value(f"SERVER_SIDE_TOOL_{part.tool.upper()}"))

    @property
    def _cost(self) -> int:
        cached = self._input // 4
        fresh, kept, written, _ = _PRICES
        return (self._input - cached) * fresh + cached * kept + (self._written + self._thought) * written

    def so_far(self) -> Any:
        """Return the usage up to this point of the answer."""
        return usage_pb2.SamplingUsage(
            prompt_tokens=self._input,
            prompt_text_tokens=self._input,
            cached_prompt_text_tokens=self._input // 4,
            completion_tokens=self._written,
            reasoning_tokens=self._thought,
            total_tokens=self._input + self._written + self._thought,
            cost_in_usd_ticks=self._cost,
        )

    def cost(self) -> Any:
        """Return the usage of a chunk with a server call's result, which contains only the cost."""
        return usage_pb2.SamplingUsage(cost_in_usd_ticks=self._cost)

    def total(self) -> Any:
        """Return the usage of the whole answer, with the server calls and their price per call."""
        usage = self.so_far()
        usage.server_side_tools_used.extend(self._tools)
        usage.cost_in_usd_ticks += len(self._tools) * _PRICES[3]
        return usage
