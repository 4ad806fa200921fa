"""What the laws accept of answers and requests that differ from the reference's, and what they fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolparity.conformance.answer import parse_request
from toolparity.conformance.cases.case import Case
from toolparity.conformance.cases.scenarios import scenarios
from toolparity.conformance.errors import UnknownSubject
from toolparity.conformance.laws import LAWS
from toolparity.conformance.laws.requests import follow_up
from toolparity.conformance.runner.judge import Judge
from toolparity.conformance.subjects import FollowUp, SubjectExchange
from toolparity.conformance.subjects import subject as load_subject
from toolparity.conformance.subjects.claims import stop_words_of
from toolparity.conformance.subjects.executable import Executable
from toolparity.conformance.subjects.reference import Reference
from toolparity.normalizer.model import Policy

#: The value of a member that is left out.
MISSING = object()


def chat(scenario: str, mode: str = "plain", policy: Policy = "all") -> Case:
    return Case(scenario, "openai.chat", mode, policy)


def messages(scenario: str) -> Case:
    return Case(scenario, "anthropic.messages", "plain", "all")


class Brief(Reference):
    """Returns what it claims of the reference's answer, in the brief form, with other ``members``."""

    def __init__(self, claims: str, members: dict[str, Any], stop_words: str | None = None, wire: str = "") -> None:
        self.claims = frozenset(claims.split())
        self.stop_words, self._members, self._wire = stop_words, members, wire

    def read(self, exchange: SubjectExchange) -> Any:
        form = super().read(exchange)
        response, selection = form["response"], form["selection"]
        calls = {
            (choice["index"], number): {"name": block["name"], "arguments": block["arguments_text"]}
            for choice in response["choices"]
            for number, block in enumerate(choice["blocks"])
            if block["type"] == "tool_call"
        }
        choice, counts = response["choices"][0], {**(response["usage"] or {"raw": None})}
        counts.pop("raw")
        answer: dict[str, Any] = {"calls": [call for (index, _), call in calls.items() if index == 0]}
        if "select" in self.claims:
            groups = {"calls": "kept", "dropped": "dropped", "rejected": "rejected"}
            answer = {to: [calls[one["choice"], one["block"]] for one in selection[of]] for to, of in groups.items()}
            answer |= {"warnings": [*form["log"]], "findings": [*form["findings"]]}
        texts = "".join(block["text"] for block in choice["blocks"] if block["type"] == "text")
        claimed = {"text": texts, "stop": choice["stop"]["reason"], "usage": counts}
        answer |= {name: value for name, value in claimed.items() if name in self.claims}
        return self.changed(answer) if self._wire in ("", exchange.wire) else answer

    def changed(self, answer: dict[str, Any]) -> dict[str, Any]:
        members = dict(self._members)
        counts = {**answer.get("usage", {}), **members.pop("usage", {})}
        answer |= members | {"usage": {name: count for name, count in counts.items() if count is not MISSING}}
        return {name: value for name, value in answer.items() if value is not MISSING}


def outcome(subject: Any, case: Case, law: str, *, exhaustive: bool = False) -> str:
    """Return "pass", "unsupported", the effect of a failure, or "" where the law has nothing to judge."""
    verdicts = Judge(subject, twice=False, exhaustive=exhaustive).result(case, [LAWS[law]]).verdicts
    found = [verdict for verdict in verdicts if verdict.check == law]
    return (found[0].effect or found[0].outcome) if found else ""


CUT_CALL, BREAK, WHOLE = (
    chat("cut-only-call", "stream"),
    chat("breaks-off-after-a-call", "stream"),
    chat("parallel-three", "stream"),
)
CUT_TEXT, NO_REASON = chat("text-then-two-calls", "stream"), chat("finish-reason-never-told", "stream")
NONE, EMPTY = {"calls": [], "text": ""}, chat("calls-and-no-words")
ANNOUNCED, CACHED, REFUSAL = (
    chat("calls-announced-and-none", "stream"),
    chat("figures-with-a-cache"),
    messages("refusal"),
)
PARALLEL, SELECT = chat("parallel-three"), "stream select findings"
DROPS, REJECTS = chat("parallel-three", policy="first"), chat("cut-only-call")

#: A rule -> law, case and claims -> outcome -> the members of the answer that differ from the reference's.
ANSWERS: dict[str, dict[tuple[str, Case, str], dict[str, list[dict[str, Any]]]]] = {
    "a broken stream is shown by a member": {
        ("incomplete", BREAK, "stream"): {
            "pass": [{"complete": False}, {"stop": "unknown"}, {"stop": "error"}, {"failed": True}],
            "misreported": [{}, {"stop": "tool_calls"}, {"failed": False}, {"complete": True, "stop": "unknown"}],
        },
        ("incomplete", BREAK, "stream stop"): {"pass": [{"stop": MISSING}]},
        ("incomplete", BREAK, ""): {"": [{}]},
    },
    "a complete response is not incomplete, but one that its limit cut may be": {
        ("incomplete", WHOLE, "stream"): {"misreported": [{"complete": False}], "": [{"complete": True}]},
        ("incomplete", CUT_CALL, "stream"): {"unsupported": [{"complete": False}]},
    },
    "a stream that is cut anywhere is shown by a member, with what came before the cut or an error": {
        ("any-cut", CUT_TEXT, "stream text stop"): {
            "pass": [
                *({"complete": False}, {"stop": "unknown"}, {"stop": MISSING}, NONE | {"failed": True}),
            ],
            "lost": [{"complete": False} | lost for lost in (NONE, {"text": ""}, {"calls": []})],
            "misreported": [NONE | {"stop": "end_turn"}, NONE | {"complete": True, "stop": "unknown"}],
        },
        ("any-cut", CUT_TEXT, "stream"): {"pass": [{"stop": "unknown"}], "misreported": [NONE]},
    },
    "free text is not an object": {
        ("arguments", chat("free-text-tool"), "stream"): {
            "pass": [{}],
            "lost": [{"calls": [{"name": "apply_patch_text", "arguments": {}}]}],
        },
    },
    "a reason that the response has is reported, and one that it lacks may be unknown": {
        **{
            ("stop", case, "stream stop"): {
                "pass": [{"stop": stop} for stop in ("unknown", "error", "tool_calls")],
                "misreported": [{"stop": "end_turn"}],
            }
            for case in (BREAK, NO_REASON)
        },
        ("stop", WHOLE, "stream stop"): {
            "misreported": [{"stop": stop} for stop in ("unknown", "error", None, "end_turn")]
        },
        ("stop", ANNOUNCED, "stream stop"): {
            "pass": [{"stop": "tool_calls"}, {"stop": "end_turn"}],
            "misreported": [{"stop": "unknown"}, {"stop": "max_tokens"}],
        },
        ("stop", REFUSAL, "stream stop"): {"misreported": [{"stop": "content_filter"}]},
    },
    "a plain end that follows from lost calls is left to conservation": {
        ("stop", WHOLE, "stream stop"): {"pass": [{"stop": "end_turn", "calls": []}]},
        ("conservation", WHOLE, "stream stop"): {"lost": [{"stop": "end_turn", "calls": []}]},
        ("conservation", PARALLEL, "stream text"): {"lost": [{"text": ""}]},
        ("conservation", EMPTY, "stream text"): {"pass": [{"text": ""}]},
    },
    "a token count that the library lacks is left out, and one that the wire lacks may be zero": {
        ("usage", CACHED, "stream usage"): {
            "pass": [{"usage": {"cached_input_tokens": MISSING}}],
            "misreported": [{"usage": {"cached_input_tokens": None}}, {"usage": {"input_tokens": MISSING}}],
        },
        ("usage", WHOLE, "stream usage"): {
            "pass": [{"usage": {"cache_write_tokens": 0}}, {"usage": {"cache_write_tokens": None}}],
            "misreported": [{"usage": {"cache_write_tokens": 1}}],
        },
        ("usage", messages("asks-again"), "stream usage"): {"pass": [{"usage": {"reasoning_tokens": 0}}]},
        ("usage", messages("signed-thinking"), "stream usage"): {"misreported": [{"usage": {"reasoning_tokens": 0}}]},
    },
    "broken arguments may be parsed in one form of a response only": {
        ("stream-parity", CUT_CALL, "stream"): {"pass": [{}]}
    },
    "a drop is reported once, and only where a call was dropped": {
        ("dropped-warned", PARALLEL, SELECT): {
            "misreported": [
                {"warnings": ["1 call dropped: get_weather"]},
                {"warnings": ["Dropping get_weather"]},
                {"findings": ["dropped-call"]},
            ]
        },
        ("dropped-warned", DROPS, SELECT): {"misreported": [{"findings": []}]},
    },
}


@pytest.mark.parametrize("rule", ANSWERS)
def test_an_answer_is_accepted_if_its_reader_can_know(rule: str) -> None:
    for (law, case, claims), expected in ANSWERS[rule].items():
        for result, answers in expected.items():
            for members in answers:
                assert outcome(Brief(claims, members), case, law) == result, (law, case.id, claims, members)


@pytest.mark.parametrize("surface", scenarios()["parallel-three"].surfaces)
def test_a_call_has_the_id_of_the_wire_or_a_separate_one(surface: str) -> None:
    class Identified(Brief):
        def changed(self, answer: dict[str, Any]) -> dict[str, Any]:
            named = [{"id": self._members["id"].format(n), **call} for n, call in enumerate(answer["calls"])]
            return answer | {"calls": named}

    case = Case("parallel-three", surface, "plain", "all")
    none = surface == "google.gemini"  # it sends no ids there
    for id, result in (("same", "altered"), ("{}", "pass" if none else "altered")):
        assert outcome(Identified("stream", {"id": id}), case, "conservation") == result, id
    for scenario in ("duplicate-ids", "one-id-two-arguments"):
        case = Case(scenario, "openai.chat", "stream", "all")
        for id, result in (("same", "altered"), ("{}", "pass"), ("dup_1" if "dup" in scenario else "call_A", "pass")):
            assert outcome(Identified("stream", {"id": id}), case, "conservation") == result, (scenario, id)


def test_a_subject_may_be_named_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "named_by_file.py").write_text("class Mine:\n    def read(self, exchange): pass\n")
    name = f"{tmp_path / 'named_by_file.py'}:Mine"
    assert load_subject(name).name == name


def test_a_reader_with_the_words_of_openai_chat_may_report_the_nearest_one() -> None:
    for stop, result in {"content_filter": "pass", "refusal": "pass", "end_turn": "misreported"}.items():
        subject = Brief("stream stop text usage", {"stop": stop}, stop_words="openai.chat")
        assert outcome(subject, REFUSAL, "stop") == result
        assert outcome(subject, REFUSAL, "alike") == ("pass" if result == "pass" else "altered")
    with pytest.raises(UnknownSubject, match="stop_words"):
        stop_words_of("mine", "openai")


def test_of_two_surfaces_that_differ_the_wrong_one_fails() -> None:
    subject = Brief("stream stop text usage", {"calls": []}, wire="anthropic.messages")
    assert outcome(subject, PARALLEL, "alike") == "pass"
    assert outcome(subject, messages("parallel-three"), "alike") not in ("pass", "")


@pytest.mark.parametrize(("scenario", "by_index"), [("sparse-indexes", "BA"), ("odd-index", "CAB")])
def test_calls_may_be_in_the_order_of_arrival_or_of_their_indexes(scenario: str, by_index: str) -> None:
    class Sorted(Brief):
        def changed(self, answer: dict[str, Any]) -> dict[str, Any]:
            calls = sorted([*answer["calls"], *answer.get("dropped", [])], key=lambda call: str(call["arguments"]))
            calls = [calls["ABC".index(letter)] for letter in self._members["order"]]
            if "select" not in self.claims:
                return answer | {"calls": calls}
            names = ", ".join(str(call["name"]) for call in calls[1:])
            warning = f"total {len(calls)}, processed 1, dropped {len(calls) - 1}: {names}"
            return answer | {"calls": calls[:1], "dropped": calls[1:], "warnings": [warning]}

    arrival = "ABC"[: len(by_index)]
    reverse = arrival[1] + arrival[0] + arrival[2:]
    for order, right in ((arrival, True), (by_index, True), (reverse, reverse == by_index)):
        tested = Sorted("stream", {"order": order}), Sorted("stream select findings", {"order": order})
        assert outcome(tested[0], chat(scenario, "stream"), "order") == ("pass" if right else "altered")
        found = [outcome(tested[1], chat(scenario, "stream", "first"), law) for law in ("same-first", "dropped-warned")]
        assert found == [("pass" if right else "executed"), "pass"], order


@pytest.mark.parametrize("case", [DROPS, PARALLEL, REJECTS], ids=lambda case: case.id)
def test_a_correct_subject_may_log_other_lines(case: Case) -> None:
    class Logs(Brief):
        def changed(self, answer: dict[str, Any]) -> dict[str, Any]:
            running = [f"{call['name']} runs" for call in answer["calls"]]
            answer["warnings"] += ["connected to 127.0.0.1", *running, "dropped the connection"]
            return answer

    verdicts = Judge(Logs(SELECT, {}), twice=False).result(case).verdicts
    assert [verdict for verdict in verdicts if verdict.outcome == "fail"] == []


@pytest.mark.parametrize("case", [DROPS, REJECTS], ids=lambda case: case.id)
def test_dropped_and_rejected_calls_are_distinguished(case: Case) -> None:
    class Swaps(Brief):
        def changed(self, answer: dict[str, Any]) -> dict[str, Any]:
            return answer | {"dropped": answer["rejected"], "rejected": answer["dropped"]}

    assert outcome(Swaps(SELECT, {}), case, "conservation") == "misreported"


# Next requests


class Writer(Reference):
    """Writes the reference's next request, changed on one wire or on all."""

    def __init__(self, change: Callable[[dict[str, Any]], Any], wire: str) -> None:
        self._change, self._wire = change, wire

    def next_request(self, follow_up: FollowUp) -> Any:
        request = parse_request(super().next_request(follow_up))
        changed = {"body": request.body, "losses": request.losses}
        if self._wire in ("", follow_up.to):
            self._change(changed)
        return changed if changed["losses"] is not None else changed["body"]


def body(change: Callable[[Any], object]) -> Callable[[dict[str, Any]], object]:
    return lambda request: change(request["body"])


def lose(losses: Any) -> Callable[[dict[str, Any]], object]:
    return lambda request: request.update(losses=losses)


def in_parts(end: str = "") -> Callable[[dict[str, Any]], object]:
    """Write each text of the user as a part, with ``end`` behind it."""

    def change(body: Any) -> None:
        for message in body["messages"]:
            if message["role"] == "user":
                message["content"] = [{"type": "text", "text": message["content"] + end}]

    return body(change)


def exclaim(member: str) -> Callable[[dict[str, Any]], object]:
    """Change the user's first text."""

    def change(body: Any) -> None:
        body[member][0]["content"][0]["text"] += "!"

    return body(change)


REASONED, TWO = messages("thinking-beside-two-calls"), chat("two-rounds")
CONVERSE, INTERACTIONS = TWO._replace(surface="bedrock.converse"), TWO._replace(surface="google.interactions")
UNCHANGED = lose(None)
SETTINGS: dict[str, Any] = {"temperature": 0.5, "parallel_tool_calls": False, "tool_choice": "none"}

#: Law, case, the wire of the changed requests ("" for all), the change, and the outcome.
REQUESTS: dict[str, list[tuple[str, Case, str, Callable[[dict[str, Any]], object], str]]] = {
    "a loss is reported in any words or by its code": [
        ("handoff", REASONED, "", lose(["reasoning"]), "pass"),
        ("handoff", REASONED, "", lose(["Thoughts stay with their provider."]), "pass"),
        ("handoff", REASONED, "", lose(None), "pass"),
        ("handoff", PARALLEL, "", lose([]), "pass"),
        ("handoff", REASONED, "", lose([]), "lost"),
        ("handoff", REASONED, "", lose(["model"]), "lost"),
        ("handoff", REASONED, "", lose(["reasoning", "refusal"]), "misreported"),
    ],
    "a request to the same wire has no losses": [
        ("replay", PARALLEL, "", lose(["model"]), "misreported"),
        ("replay", PARALLEL, "", lose(["something"]), "misreported"),
    ],
    "losses of another form are a failure": [
        ("handoff", PARALLEL, "", lose(losses), "malformed") for losses in ("reasoning", [5], [{"code": "reasoning"}])
    ],
    "a text may be one part, but is the same text": [
        ("replay", TWO, "openai.chat", in_parts(), "pass"),
        ("replay", TWO, "openai.chat", in_parts("!"), "lost"),
        ("replay", CONVERSE, "bedrock.converse", exclaim("messages"), "lost"),
        ("replay", INTERACTIONS, "google.interactions", exclaim("input"), "lost"),
        ("handoff", TWO, "bedrock.converse", exclaim("messages"), "altered"),
        ("handoff", TWO, "google.interactions", exclaim("input"), "altered"),
        ("handoff", CONVERSE, "openai.responses", exclaim("input"), "altered"),
    ],
    "an unchanged request keeps the laws": [
        ("replay", CONVERSE, "bedrock.converse", UNCHANGED, "pass"),
        ("replay", INTERACTIONS, "google.interactions", UNCHANGED, "pass"),
        ("handoff", TWO, "bedrock.converse", UNCHANGED, "pass"),
    ],
    "an added setting or name is a change": [
        *(
            (law, TWO, wire, body(lambda body, name=name: body.update({name: SETTINGS[name]})), "altered")  # type: ignore[misc]
            for law, wire in (("replay", "openai.chat"), ("handoff", "openai.responses"), ("handoff", "xai.grpc"))
            for name in SETTINGS
        ),
        ("handoff", TWO, "openai.responses", body(lambda body: body["input"][0].update(name="me")), "altered"),
    ],
    "a missing name or an unknown type is a change": [
        ("handoff", TWO, "ollama.chat", body(lambda body: body["messages"][-1].pop("tool_name")), "altered"),
        ("handoff", TWO, "ollama.chat", body(lambda body: body["tools"][0].pop("type")), "lost"),
        ("handoff", TWO, "google.interactions", body(lambda body: body["input"][-1].update(name="another")), "altered"),
        (
            "handoff",
            TWO,
            "google.interactions",
            body(lambda body: body["input"][0]["content"][0].update(type="words")),
            "lost",
        ),
        (
            "handoff",
            TWO,
            "anthropic.messages",
            body(lambda body: body.update(system=[{"type": "words", "text": ""}])),
            "altered",
        ),
    ],
}


@pytest.mark.parametrize("rule", REQUESTS)
def test_a_request_is_accepted_if_it_continues_the_conversation(rule: str) -> None:
    found = [(outcome(Writer(row[3], row[2]), row[1], row[0], exhaustive=True), row) for row in REQUESTS[rule]]
    assert [(result, row) for result, row in found if result != row[-1]] == []


def test_the_reference_and_a_program_report_losses_beside_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = Judge(Reference(), twice=False).rounds(REASONED)
    asked = follow_up(rounds[0], "openai.chat", "openai")
    assert "reasoning" in Reference().next_request(asked)["losses"]
    program = object.__new__(Executable)
    monkeypatch.setattr(program, "_request", lambda line: {"request": {"messages": []}, "losses": ["reasoning"]})
    assert program.next_request(asked) == {"body": {"messages": []}, "losses": ["reasoning"]}
