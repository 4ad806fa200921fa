"""The generated known-bad subjects that write requests: every member dropped, altered, moved or repeated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from tests.thoroughness import spread
from toolparity.conformance.cases.case import Case, CaseRound
from toolparity.conformance.known_bad.generated.bodies import RequestMutant, places
from toolparity.conformance.runner.judge import CaseFilter, Judge
from toolparity.conformance.runner.request_bench import RequestBench
from toolparity.conformance.subjects import Subject
from toolparity.conformance.subjects.reference import Reference
from toolparity.normalizer.errors import ToolparityError

FEW = CaseFilter(
    scenarios=("two-rounds", "server-search-and-call"), policies=("all",), modes=("plain",), providers=("openai", "xai")
)
#: Members that no law compares yet. All others are compared, and the thorough test shows it.
OPEN = {
    "replay/anthropic.messages.container",
    "replay/anthropic.messages.messages[assistant].content[bash_code_execution_tool_result].content.content",
    "replay/anthropic.messages.messages[assistant].content[bash_code_execution_tool_result].content.stderr",
    "replay/anthropic.messages.thinking",
    "replay/anthropic.messages.thinking.budget_tokens",
    "replay/anthropic.messages.thinking.type",
    "replay/openai.responses.input[reasoning].content",
    "handoff/anthropic.messages.max_tokens",
    "handoff/anthropic.messages.messages[assistant].content[text].type",
    "handoff/anthropic.messages.messages[assistant].content[tool_use].name",
    "handoff/anthropic.messages.messages[user].content",
    "handoff/anthropic.messages.messages[user].content[tool_result]",
    "handoff/anthropic.messages.messages[user].content[tool_result].is_error",
    "handoff/anthropic.messages.model",
    "handoff/anthropic.messages.tools[].name",
    "handoff/anthropic.messages.tools[].strict",
    "handoff/openai.chat.messages[assistant].content",
    "handoff/openai.chat.messages[assistant].tool_calls[custom].custom.name",
    "handoff/openai.chat.messages[assistant].tool_calls[custom].type",
    "handoff/openai.chat.messages[assistant].tool_calls[function].function.name",
    "handoff/openai.chat.messages[assistant].tool_calls[function].type",
    "handoff/openai.chat.model",
    "handoff/openai.chat.n",
    "handoff/openai.chat.tool_choice",
    "handoff/openai.chat.tools[custom].custom.name",
    "handoff/openai.chat.tools[function].function.name",
    "handoff/openai.chat.tools[function].function.strict",
    "handoff/openai.responses.input[function_call].name",
    "handoff/openai.responses.input[function_call_output].output[input_text]",
    "handoff/openai.responses.input[function_call_output].output[input_text].text",
    "handoff/openai.responses.model",
    "handoff/openai.responses.reasoning",
    "handoff/openai.responses.reasoning.effort",
    "handoff/openai.responses.tool_choice",
    "handoff/openai.responses.tools[function].name",
    "handoff/xai.grpc.messages[ROLE_ASSISTANT].content",
    "handoff/xai.grpc.messages[ROLE_ASSISTANT].reasoning_content",
    "handoff/xai.grpc.messages[ROLE_ASSISTANT].tool_calls[TOOL_CALL_TYPE_CLIENT_SIDE_TOOL].function.name",
    "handoff/xai.grpc.messages[ROLE_ASSISTANT].tool_calls[TOOL_CALL_TYPE_CLIENT_SIDE_TOOL].status",
    "handoff/xai.grpc.messages[ROLE_ASSISTANT].tool_calls[TOOL_CALL_TYPE_CLIENT_SIDE_TOOL].type",
    "handoff/xai.grpc.model",
    "handoff/xai.grpc.tool_choice",
    "handoff/xai.grpc.tool_choice.mode",
    "handoff/xai.grpc.tools[].function.name",
}


def bench(case_filter: CaseFilter) -> RequestBench:
    return RequestBench(_read(case_filter))


def _read(case_filter: CaseFilter) -> Iterator[tuple[Case, list[CaseRound]]]:
    judge = Judge(cast(Subject, Reference()), twice=False)
    for case in case_filter.cases():
        try:
            yield case, judge.rounds(case)
        except ToolparityError:  # the reference refuses the response, so that no request follows
            continue


def member(mutant: RequestMutant) -> str:
    return f"{mutant.name.partition('/')[0]}/{mutant.field}"


def survivors(tested: RequestBench, mutants: list[RequestMutant]) -> tuple[int, dict[str, str]]:
    """Return how many of the mutants change a request, and the member of each that no law fails."""
    fates = {mutant: tested.kill(mutant) for mutant in mutants}
    changing = [mutant for mutant, (changed, _, _) in fates.items() if changed]
    return len(changing), {mutant.name: member(mutant) for mutant in changing if fates[mutant][1] is None}


def test_the_sampled_subjects_are_killed() -> None:
    few = bench(FEW)
    # Two scenarios do not show every exchange, reversal and alteration: the thorough test covers those.
    mutants = (mutant for mutant in few.mutants() if mutant.operator not in ("swap", "move", "reverse", "alter"))
    judged = [mutant for mutant in mutants if member(mutant) not in OPEN]
    count, alive = survivors(few, spread(judged, 150))
    assert count > 50
    assert alive == {}


def test_every_member_and_element_has_subjects() -> None:
    body = {"stream": True, "input": [{"role": "user", "content": "a"}], "tools": [{"parameters": {"type": "object"}}]}
    paths = {place.path for place in places(body)}
    assert paths == {".input", ".input[user]", ".input[user].role", ".input[user].content", ".tools", ".tools[]"} | {
        ".tools[].parameters"
    }


@pytest.mark.thorough
def test_every_subject_is_killed_or_its_member_is_open() -> None:
    whole = bench(CaseFilter(policies=("all",)))
    count, alive = survivors(whole, whole.mutants())
    assert count > 1500
    assert set(alive.values()) == OPEN
