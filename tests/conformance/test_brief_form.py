"""What the laws `stop` and `usage` leave to readers without blocks: they pass on a response, and derive nothing."""

from __future__ import annotations

from typing import Any

import pytest

from toolparity.conformance.cases.case import Case
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import SubjectExchange
from toolparity.conformance.subjects.reference import Reference

BROKEN = Case("breaks-off-after-a-call", "openai.chat", "stream", "all")
WHOLE = Case("parallel-three", "openai.chat", "stream", "all")
NO_REASON = Case("finish-reason-never-told", "openai.chat", "stream", "all")
ANNOUNCED = Case("calls-announced-and-none", "openai.chat", "stream", "all")
CACHED = Case("figures-with-a-cache", "openai.chat", "plain", "all")


class Reader(Reference):
    """Returns the reference's calls and token counts, and fixed other members."""

    def __init__(self, claim: str, **members: Any) -> None:
        self.claims = frozenset(("stream", claim))
        self.members = members

    def read(self, exchange: SubjectExchange) -> Any:
        response = super().read(exchange)["response"]
        blocks = [block for block in response["choices"][0]["blocks"] if block["type"] == "tool_call"]
        calls = [{"name": block["name"], "arguments": block["arguments_text"]} for block in blocks]
        return {"calls": calls, "usage": self.counts(response["usage"] or {}), **self.members}

    def counts(self, usage: dict[str, Any]) -> dict[str, Any]:
        return {key: count for key, count in usage.items() if key != "raw"}


def judged(subject: Reader, case: Case, law: str) -> tuple[str, str]:
    verdicts = Judge(subject, twice=False).result(case).verdicts
    return next((one.outcome, one.effect) for one in verdicts if one.check == law)


@pytest.mark.parametrize("case", [BROKEN, NO_REASON], ids=str)
@pytest.mark.parametrize("stop", ["unknown", "error", "tool_calls"])
def test_the_end_of_a_response_without_a_reason_may_be_unknown(case: Case, stop: str) -> None:
    assert judged(Reader("stop", stop=stop), case, "stop") == ("pass", "")


@pytest.mark.parametrize("case", [BROKEN, NO_REASON], ids=str)
def test_it_is_not_a_plain_end(case: Case) -> None:
    assert judged(Reader("stop", stop="end_turn"), case, "stop") == ("fail", "misreported")


@pytest.mark.parametrize("stop", ["unknown", "error", None])
def test_a_reason_that_the_response_has_must_be_reported(stop: str | None) -> None:
    assert judged(Reader("stop", stop=stop), WHOLE, "stop") == ("fail", "misreported")


@pytest.mark.parametrize(
    ("stop", "outcome"), [("tool_calls", "pass"), ("end_turn", "pass"), ("unknown", "fail"), ("max_tokens", "fail")]
)
def test_a_word_for_calls_may_remain_where_there_are_none(stop: str, outcome: str) -> None:
    assert judged(Reader("stop", stop=stop), ANNOUNCED, "stop")[0] == outcome


def test_a_plain_end_that_follows_from_lost_calls_is_left_to_conservation() -> None:
    losing = Reader("stop", stop="end_turn", calls=[])
    assert judged(losing, WHOLE, "stop") == ("pass", "")
    assert judged(losing, WHOLE, "conservation") == ("fail", "lost")
    assert judged(Reader("stop", stop="end_turn"), WHOLE, "stop") == ("fail", "misreported")


class Changed(Reader):
    """It leaves out a count, or has another value for it."""

    def __init__(self, count: str, **members: Any) -> None:
        super().__init__("usage")
        self.count, self.changes = count, members

    def counts(self, usage: dict[str, Any]) -> dict[str, Any]:
        kept = {key: count for key, count in super().counts(usage).items() if key != self.count}
        return {**kept, **self.changes}


def test_a_reader_without_a_detail_leaves_its_member_out() -> None:
    assert judged(Changed("cached_input_tokens"), CACHED, "usage") == ("pass", "")
    assert judged(Changed("cached_input_tokens", cached_input_tokens=None), CACHED, "usage") == ("fail", "misreported")
    assert judged(Changed("input_tokens"), CACHED, "usage") == ("fail", "misreported")


@pytest.mark.parametrize(("count", "outcome"), [(0, "pass"), (None, "pass"), (1, "fail")])
def test_a_count_that_is_not_on_the_wire_may_be_zero(count: int | None, outcome: str) -> None:
    assert judged(Changed("cache_write_tokens", cache_write_tokens=count), WHOLE, "usage")[0] == outcome
