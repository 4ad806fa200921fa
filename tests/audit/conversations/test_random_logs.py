"""Random logs: conversations that take turns, lost exchanges, counted ids, and copies of the log."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any, Literal

import pytest

from tests.audit.conversations.built import Body, Exchange, audited, codes, on_every_wire
from tests.support.thoroughness import sampled

SEEDS = sampled(range(6), 3)
DEFECTS = {
    "none": [],
    "result left out": ["dropped-in-fact"],
    "call left out": ["dropped-in-fact"],
    "result twice": ["answered-twice"],
    "arguments altered": ["arguments-altered"],
}


class Log:
    """Writes a random log on one wire. ``counted``: in what the ids of calls are counted, or None if they are drawn."""

    def __init__(self, bodies: Any, random: Random, counted: Literal["conversation", "response"] | None) -> None:
        self._bodies, self._random, self._counted = bodies, random, counted
        self._made = 0

    def written(self, defect: str) -> list[Exchange]:
        """Return the exchanges of several conversations, of which the first one has the defect."""
        number = self._random.randint(1, 4)
        conversations = [self._conversation(f"Question {n}", "none" if n else defect) for n in range(number)]
        log: list[Exchange] = []
        while any(conversations):
            log.append(self._random.choice([one for one in conversations if one]).pop(0))
        return log

    def _conversation(self, question: str, defect: str) -> list[Exchange]:
        random, bodies = self._random, self._bodies
        history: list[Body] = [{"role": "user", "content": question}]
        exchanges: list[Exchange] = []
        rounds = random.randint(1, 4)
        defective = random.randrange(rounds)
        made = 0
        for number in range(rounds):
            ids = [self._id(made + n) for n in range(random.randint(2, 3))]
            made += len(ids) if self._counted == "conversation" else 0
            turn = bodies.turn(*(bodies.call(id, question=question, round=number, part=n) for n, id in enumerate(ids)))
            exchanges.append((bodies.request(*history), bodies.response(turn)))
            kept, answered = list(ids), random.sample(ids, len(ids))
            changed = {}
            if defect != "none" and number == defective:
                if defect == "result left out":
                    answered.pop()
                elif defect == "call left out":
                    answered.remove(kept.pop())
                elif defect == "result twice":
                    answered.append(answered[0])
                else:
                    changed = {"altered": True}
            calls = [
                bodies.call(id, question=question, round=number, part=n, **(changed if n == 0 else {}))
                for n, id in enumerate(kept)
            ]
            history = [*history, *bodies.turn(*calls), *map(bodies.result, answered)]
        return [*exchanges, (bodies.request(*history), bodies.response(bodies.turn(bodies.call("call_y3Z4a5B6"))))]

    def _id(self, number: int) -> str:
        if self._counted:
            return f"call_{number}"
        self._made += 1
        return f"call_{self._random.choice('abcdef')}{self._random.getrandbits(40):010x}{self._made}zZ"


@on_every_wire
def test_an_agent_in_a_random_log_is_convicted_of_its_defect_alone(bodies: Any) -> None:
    for defect, seed in product(DEFECTS, SEEDS):
        log = Log(bodies, Random(seed), counted=None).written(defect)
        assert codes(audited(bodies.wire, *log)) == DEFECTS[defect], (defect, seed)
        assert codes(audited(bodies.wire, *log, *log)) == DEFECTS[defect], (defect, seed)


@on_every_wire
@pytest.mark.parametrize("counted", [None, "conversation", "response"])
def test_counted_ids_and_lost_exchanges_of_a_random_log_accuse_no_correct_agent(
    bodies: Any, counted: Literal["conversation", "response"] | None
) -> None:
    for seed in SEEDS:
        random = Random(seed)
        log = Log(bodies, random, counted).written("none")
        assert codes(audited(bodies.wire, *log)) == [], seed
        assert codes(audited(bodies.wire, *random.sample(log, len(log) // 2 + 1))) == [], seed
