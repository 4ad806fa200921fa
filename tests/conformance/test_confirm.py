"""What the program that repeats accusations without the suite makes of a library's output (docs/confirm.py)."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from toolparity.reports.results import Result, Run, SubjectReport, Verdict

ROOT = Path(__file__).parents[2]
WEATHER = {"id": "call_1", "name": "get_weather", "arguments_text": '{"city": "Lisbon"}'}
CALLS = [
    'get_weather({"city":"Lisbon"})',
    'get_weather({"city":"Porto"})',
    'list_events({"day":"tomorrow"})',
]


def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("confirm", ROOT / "docs" / "confirm.py")
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


CONFIRM = program()


def judged(
    output: dict[str, Any], law: str = "conservation", *, error: str = "", calls: Any = (), **verdict: Any
) -> str:
    """Return the word for an output, of a case whose response has three calls."""
    accused = Verdict(law, "fail", verdict.pop("reason", "it broke"), **verdict)
    report = SubjectReport(calls=list(calls), error=error)
    result = Result("mine", "parallel-three", "openai.chat", "plain", "all", [accused], [report])
    word: str = CONFIRM.judged(result, accused, output)
    return word


def called(*texts: str) -> dict[str, Any]:
    split = (text.removesuffix(")").partition("(") for text in texts)
    return {"calls": [{"name": name, "arguments_text": arguments} for name, _, arguments in split]}


@pytest.mark.parametrize(
    ("printed", "word"),
    [(CALLS[:2], "confirmed"), (CALLS[1::-1], "confirmed"), (CALLS, "unfair"), (CALLS[:1], "false"), ([], "false")],
)
def test_calls_are_compared_in_any_order(printed: list[str], word: str) -> None:
    assert judged(called(*printed), calls=CALLS[:2]) == word


def test_spelling_of_arguments_and_shortened_calls_are_the_same() -> None:
    long = f'save({{"text": "{"a" * 90}"}})'
    assert judged({"calls": [WEATHER]}, calls=CALLS[:1]) == "confirmed"
    assert judged(called(long), calls=[f"{long[:40]}...)"]) == "confirmed"
    assert judged(called(long), calls=[f"{long[:40]}b...)"]) == "false"


@pytest.mark.parametrize(
    ("error", "printed", "word"),
    [
        ("TypeError: x", "TypeError: y", "confirmed"),
        ("TypeError: x", "ValueError: x", "false"),
        ("TypeError: x", "", "false"),
        ("", "TypeError: x", "false"),
    ],
)
def test_a_refusal_is_confirmed_by_an_error_of_its_type(error: str, printed: str, word: str) -> None:
    assert judged({"calls": [], "error": printed}, error=error) == word


@pytest.mark.parametrize(
    ("printed", "word"), [("length", "confirmed"), ("stop", "unfair"), ("content_filter", "false"), (None, "false")]
)
def test_stop_words_are_compared_by_their_meaning(printed: str | None, word: str) -> None:
    output = {"calls": [], "stop": printed}
    assert judged(output, "stop", expected="end_turn", got="max_tokens") == word


@pytest.mark.parametrize(("count", "word"), [(8, "confirmed"), (61, "unfair"), (None, "false")])
def test_a_token_count_is_compared(count: int | None, word: str) -> None:
    output = {"calls": [], "usage": {"input_tokens": count}}
    reason = "input_tokens is 61, but the answer has 8"
    sides = {"expected": json.dumps({"input_tokens": 61}), "got": json.dumps({"input_tokens": 8})}
    assert judged(output, "usage", reason=reason, **sides) == word
    assert judged(output, "usage", reason=reason, expected="61", got="8") == word


@pytest.mark.parametrize(
    ("output", "word"),
    [({"stop": "stop"}, "confirmed"), ({"stop": None}, "unfair"), ({"stop": "stop", "complete": False}, "unfair")],
)
def test_a_break_is_visible_in_a_missing_stop_word(output: dict[str, Any], word: str) -> None:
    assert judged({"calls": [], **output}, "any-cut", effect="misreported") == word


def test_texts_and_ids_are_compared() -> None:
    text = {"reason": "the subject claims text, but returns another text", "expected": "a", "got": "b"}
    assert judged({"calls": [], "text": "b"}, **text) == "confirmed"
    assert judged({"calls": [], "text": "a"}, **text) == "unfair"
    id = {"reason": "the call get_weather does not have the provider's id", "expected": "call_2", "got": "call_1"}
    assert judged({"calls": [WEATHER]}, **id) == "confirmed"


def test_a_sample_has_one_of_each_library_in_turn() -> None:
    verdict = Verdict("order", "fail", "it broke")
    found = [(Result(name, "parallel-three", "openai.chat", "plain", "all", [verdict]), verdict) for name in "aaaab"]
    names = [result.subject for result, _ in CONFIRM.sample(found, 3, seed=1)]
    assert sorted(names) == ["a", "a", "b"]
    assert len(CONFIRM.sample(found, 60, seed=1)) == 5


def test_laws_that_a_direct_program_cannot_show_are_not_drawn() -> None:
    verdicts = [Verdict("alike", "fail", "x"), Verdict("order", "pass"), Verdict("order", "fail", "x")]
    results = [Result(name, "parallel-three", "openai.chat", "plain", "all", verdicts) for name in ("litellm", "mine")]
    drawn = CONFIRM.accusations(Run("1", "2026-01-01", {}, [], [], [], results))
    assert [(result.subject, verdict.check) for result, verdict in drawn] == [("litellm", "order")]
