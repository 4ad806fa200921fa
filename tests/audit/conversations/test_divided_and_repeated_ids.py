"""Histories that divide a response over several messages, refer to it by id, or use ids that repeat."""

from __future__ import annotations

import itertools

import pytest

from tests.audit.conversations.built import (
    CHAT,
    ONE,
    QUESTION,
    RESPONSES,
    THREE,
    TWO,
    Body,
    Chat,
    Exchange,
    Messages,
    Responses,
    audited,
    codes,
    on_every_wire,
)

DEFECTS = {
    "none": [],
    "reordered": [],
    "omitted": ["dropped-in-fact"],
    "unanswered": ["dropped-in-fact"],
    "answered twice": ["answered-twice"],
    "altered": ["arguments-altered"],
}


@on_every_wire
def test_each_call_may_directly_precede_its_result(bodies: Chat | Responses | Messages) -> None:
    calls = {id: bodies.call(id, x=id) for id in (ONE, TWO, THREE)}
    first = (bodies.request(QUESTION), bodies.response(bodies.turn(*calls.values())))
    for defect, expected in DEFECTS.items():
        rounds = {id: [*bodies.turn(call), bodies.result(id)] for id, call in calls.items()}
        if defect == "reordered":
            rounds = dict(reversed(rounds.items()))
        elif defect == "omitted":
            del rounds[TWO]
        elif defect == "unanswered":
            rounds[ONE].pop()
        elif defect == "answered twice":
            rounds[TWO].append(bodies.result(TWO))
        elif defect == "altered":
            rounds[TWO][0] = bodies.turn(bodies.call(TWO, x="other"))[0]
        history = [QUESTION, *itertools.chain(*rounds.values())]
        report = audited(bodies.wire, first, (bodies.request(*history), bodies.response(bodies.turn(bodies.call("z")))))
        figures = report.wires[bodies.wire]
        assert codes(report) == expected
        assert (figures.linked, figures.answered, figures.recognized) == (1, 3 - len(expected), {}), defect


def test_reasoning_in_a_separate_message_is_not_lost() -> None:
    bodies = Messages()
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}
    call = bodies.call(ONE)
    parent = (bodies.request(QUESTION), bodies.response(bodies.turn(thought, call)))

    def continued(*turns: Body) -> list[str]:
        child = bodies.request(QUESTION, *turns, bodies.result(ONE))
        return codes(audited(bodies.wire, parent, (child, bodies.response(bodies.turn(bodies.call("z"))))))

    assert continued(*bodies.turn(thought), *bodies.turn(call)) == []
    assert continued(*bodies.turn(call)) == ["reasoning-lost"]


def counted(number: int, calls: int = 1, question: str = "Is it dry?") -> tuple[Exchange, Exchange]:
    """Return a correct run whose call ids count from 0, and whose arguments name the run."""
    asked = {"role": "user", "content": question}
    turn = CHAT.turn(*(CHAT.call(f"call_{n}", run=number) for n in range(calls)))
    results = [CHAT.result(f"call_{n}") for n in range(calls)]
    again = CHAT.response([{"role": "assistant", "content": f"Done {number}."}])
    return (CHAT.request(asked), CHAT.response(turn)), (CHAT.request(asked, *turn, *results), again)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("runs", [2, 3, 12])
def test_runs_of_one_question_with_counted_ids_are_kept_apart(runs: int, order: int) -> None:
    made = [counted(number, 1 + number % 2) for number in range(runs)]
    report = audited(CHAT.wire, *(first for first, _ in made), *[second for _, second in made][::order])
    figures = report.wires[CHAT.wire]
    assert codes(report) == []
    assert figures.answered == figures.calls


def test_other_calls_without_a_drawn_id_are_only_noted_as_they_can_be_of_another_session() -> None:
    (one, _), (other, continued) = counted(0, 2), counted(1, 2)
    request = {**continued[0], "messages": [*continued[0]["messages"][:-1]]}
    request["messages"][1] = CHAT.turn(CHAT.call("call_0", run=2))[0]
    for known in ([one], [one, other]):
        report = audited(CHAT.wire, *known, (request, continued[1]))
        figures = report.wires[CHAT.wire]
        assert (codes(report), figures.linked, figures.unjudged["ambiguous"]) == (["calls-differ"], 0, 2)
        report = audited(CHAT.wire, *known, (request, continued[1]), counted(0, 2)[1], counted(1, 2)[1])
        assert (codes(report), figures.accused) == ([], 0)  # the responses have their continuations


def test_a_call_with_a_counted_id_is_convicted_in_its_conversation() -> None:
    for conversations in (1, 20):
        made = [counted(0, 2, f"Is it dry in {number}?") for number in range(conversations)]
        seconds: list[Exchange] = []
        for _, (request, response) in made:
            seconds.append((CHAT.request(*request["messages"][:-1]), response))
        report = audited(CHAT.wire, *(first for first, _ in made), *seconds)
        assert report.wires[CHAT.wire].findings == {"dropped-in-fact": conversations}
        places = [(finding.response_place, finding.request_place) for finding in report.findings]
        assert places == [(str(number), str(number + conversations)) for number in range(conversations)]


def test_the_same_first_call_does_not_link_two_conversations() -> None:
    turn = CHAT.turn(CHAT.call("call_0"), CHAT.call("call_1", x=1))
    other = [{"role": "user", "content": "Is it wet?"}, *CHAT.turn(CHAT.call("call_0")), CHAT.result("call_0")]
    for system in ([], [{"role": "system", "content": "Be brief."}]):
        first = (CHAT.request(*system, QUESTION), CHAT.response(turn))
        report = audited(
            CHAT.wire, first, (CHAT.request(*system, *other), CHAT.response(CHAT.turn(CHAT.call("call_1"))))
        )
        assert (codes(report), report.wires[CHAT.wire].linked) == ([], 0)


def test_a_counted_id_in_another_conversation_does_not_revoke_a_finding() -> None:
    dropping, other = counted(0, 2, "Is it dry?"), counted(1, 2, "Is it wet?")
    defective = (CHAT.request(*dropping[1][0]["messages"][:-1]), dropping[1][1])
    later = (CHAT.request({"role": "user", "content": "Is it cold?"}), other[0][1])
    report = audited(CHAT.wire, other[0], dropping[0], defective, other[1], later)
    assert codes(report) == ["dropped-in-fact"]


def test_an_id_that_a_mock_repeats_links_no_request_to_a_later_response() -> None:
    history = [QUESTION, *CHAT.turn(CHAT.call(ONE, x=1)), CHAT.result(ONE)]
    answer = CHAT.response([{"role": "assistant", "content": "Dry."}])
    for question, x, linked in ((QUESTION, 1, 1), (QUESTION, 2, 0), ({"role": "user", "content": "Is it wet?"}, 1, 0)):
        later = (CHAT.request(question), CHAT.response(CHAT.turn(CHAT.call(ONE, x=x))))
        report = audited(CHAT.wire, (CHAT.request(*history), answer), later)
        assert (codes(report), report.wires[CHAT.wire].linked) == ([], linked)


def reference(id: str) -> Body:
    return {"type": "item_reference", "id": id}


REASONING: Body = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}


def test_reasoning_that_the_provider_stores_may_be_referred_to() -> None:
    call, without_content = RESPONSES.call(ONE), {"type": "reasoning", "id": "rs_1", "summary": []}
    answer = RESPONSES.response([RESPONSES.call("z")])
    for sent, store, expected in (
        ([reference("rs_1")], True, []),
        ([without_content], True, []),
        ([without_content], False, ["reasoning-lost"]),
        ([], True, ["reasoning-lost"]),
    ):
        first = (RESPONSES.request(QUESTION, store=store), RESPONSES.response([REASONING, call]))
        request = RESPONSES.request(QUESTION, *sent, call, RESPONSES.result(ONE), store=store)
        report = audited(RESPONSES.wire, first, (request, answer))
        assert (codes(report), report.wires[RESPONSES.wire].answered) == (expected, 1), (sent, store)


def test_calls_that_are_referred_to_are_judged_by_round() -> None:
    one, two, three = map(RESPONSES.call, (ONE, TWO, THREE))
    first = [QUESTION, reference(one["id"]), RESPONSES.result(ONE)]
    second = [*first, reference(two["id"]), reference(three["id"]), RESPONSES.result(TWO)]
    for more, expected in (([RESPONSES.result(THREE)], []), ([], ["dropped-in-fact"])):
        report = audited(
            RESPONSES.wire,
            (RESPONSES.request(QUESTION), RESPONSES.response([one], "resp_m3N4o5P6")),
            (RESPONSES.request(*first), RESPONSES.response([two, three])),
            (RESPONSES.request(*second, *more), RESPONSES.response([RESPONSES.call("z")], "resp_q7R8s9T0")),
        )
        assert (codes(report), report.wires[RESPONSES.wire].linked) == (expected, 2)


def test_a_request_may_repeat_the_history_that_its_response_id_names() -> None:
    calls, results = [*map(RESPONSES.call, (ONE, TWO))], [*map(RESPONSES.result, (ONE, TWO))]
    first = (RESPONSES.request(QUESTION), RESPONSES.response(calls))
    for kept, expected in ((2, []), (1, ["dropped-in-fact"])):
        request = RESPONSES.request(QUESTION, *calls, *results[:kept], previous_response_id="resp_a1B2c3D4")
        answer = RESPONSES.response([RESPONSES.call("z")], "resp_q7R8s9T0")
        assert codes(audited(RESPONSES.wire, first, (request, answer))) == expected
