"""Every member that a request can have arrives on every wire, or is reported as lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from tests.normalizer.history.conversations import PROVIDERS
from tests.normalizer.history.request_members import Change, changes
from tests.normalizer.history.request_types import CONTEXTS, REQUESTS
from tests.support.thoroughness import is_thorough, sampled
from toolparity.normalizer.conversation import Encoded
from toolparity.normalizer.model import Wire
from toolparity.normalizer.requests import read_request, write_request
from toolparity.normalizer.wires.registry import wire_name

#: Loss codes that state that a message, a part or a tool was left out as a whole.
_WHOLE = frozenset(
    ("empty", "hosted-tool", "media", "opaque", "orphan", "reasoning", "server-tool", "unsigned-reasoning")
)
#: Members that no other wire has to represent, with the reason. They survive on their own wire.
_INTERNAL = {
    "status": "the state of an item: the calls of a history are complete",
    "id": "the provider's id of an item; calls are identified by their call id",
    "type": "another spelling of the default type",
}
#: Values that mean the same as leaving the member out, and why.
_ALIKE = {
    "detail=auto": "the default",
    "is_error=False": "the default",
    "strict=False": "the default of all wires but openai.responses",
    "logprobs=False": "the default",
    ".response_format=dict": "the default, text",
    ".text.format=dict": "the default, text",
    "execution=server": "the default",
    "(ShellCall).status=completed": "the default",
    "function.parameters=a parameters": "not a schema: the function is declared without parameters",
    "functions[].parameters=dict": "without parameters, a function has none",
    "function.parameters=dict": "without parameters, a function has none",
    ".messages=list": "the roles system and developer, which mean the same",
    "(ResponseFunctionToolCallParam).id=a id": "not an id that OpenAI made, which it refuses",
    "(ResponseCustomToolCallParam).id=a id": "not an id that OpenAI made, which it refuses",
    "(ResponseReasoningItemParam).content=list": "the same text as the summary, which other wires get",
    "disable_parallel_tool_use=False": "the default",
    "functionCallingConfig(FunctionCallingConfig).mode=AUTO": "the default",
    ".toolChoice=auto": "the default",
    ".stream=False": "the default of all wires but ollama.chat, for which it is written",
    "responseLogprobs=False": "the default",
    "(TextResponseFormatParam).mime_type=text/plain": "the default",
    ".format=": "ollama.chat reads it as no format",
    "functionCall(FunctionCall).willContinue=True": "states how a stream delivers the arguments, which are whole here",
    "functionCall(FunctionCall).willContinue=False": "the default",
    "parameters(Schema).nullable=True": "a schema without a type accepts null",
    "parameters(Schema).nullable=False": "the default",
    "(FunctionResultStepParam).name=f": "the name of its call",
}
#: Members that a target does not need, as patterns of their paths, and why.
_NEEDLESS = {
    "google.gemini": {r"\.stream=True": "the method in the address decides whether a response is streamed"},
    "bedrock.converse": {r"\.stream=True": "the operation decides whether a response is streamed"},
    "ollama.chat": {
        r"(?i)image.*\.(media_type|mime_type|format)=.+": "the data has the format, and the wire has no member for it"
    },
}
#: Members whose loss codes have other names.
_CODES = {"citations": "annotations", "tool_choice": "tool-choice"}


def silent(wire: Wire, target: Wire, given: list[Change]) -> Iterator[str]:
    """Yield the members whose value changes neither the written request nor its losses."""
    for case in given:
        bodies = [CONTEXTS[wire](deepcopy(value)) for value in (case.before, case.after)]
        before, after = (_written(body, wire, target) for body in bodies)
        same = before.losses == after.losses and str(before.body) == str(after.body)
        if same and bodies[0] != bodies[1] and not _is_explained(case, before, wire, target):
            yield case.path


def _written(body: Any, wire: Wire, target: Wire) -> Encoded:
    request = read_request(body, wire_name(wire), provider=PROVIDERS[wire])
    return write_request(request, wire_name(target), provider=PROVIDERS[target])


def _is_explained(case: Change, before: Encoded, wire: Wire, target: Wire) -> bool:
    """Return whether the member states nothing, or a loss states that what contains it was left out."""
    containing = re.findall(r"\.(\w+)", case.path)
    names = {*containing, *(_CODES[member] for member in containing if member in _CODES)}
    reported = " ".join(f"{loss.code} {loss.message}" for loss in before.losses)
    return (
        case.path.endswith(tuple(_ALIKE))
        or (wire != target and containing[-1] in _INTERNAL)
        or any(re.search(f"{pattern}$", case.path) for pattern in _NEEDLESS.get(target, ()))
        or any(loss.code in _WHOLE for loss in before.losses)
        or any(re.search(rf"\b{name}\b", reported) for name in names)
    )


@cache
def cases(wire: Wire) -> list[Change]:
    found = list(changes(REQUESTS[wire]))
    assert len(found) > 60
    return sampled(found, 200)


def shared(wire: Wire, target: Wire) -> list[Change]:
    """Return the cases of a pair: in the plain run a quarter of them, for each target another one than for the last."""
    return cases(wire) if is_thorough() else cases(wire)[list(REQUESTS).index(target) % 4 :: 4]


@pytest.mark.thorough(keep=27)
@pytest.mark.parametrize("target", REQUESTS)
@pytest.mark.parametrize("wire", REQUESTS)
def test_a_member_arrives_or_is_reported(wire: Wire, target: Wire) -> None:
    assert list(silent(wire, target, shared(wire, target))) == []
