"""Random logs: an agent with one defect is convicted of it, and no correct agent is accused."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

from tests.audit.conversations.built import Body, Exchange, audited, codes, on_every_wire
from tests.audit.conversations.correct_agents import CorrectLog, accusations, report
from tests.support.thoroughness import is_thorough, sampled

SEEDS = sampled(range(6), 3)
DEFECTS = {
    "none": [],
    "result left out": ["dropped-in-fact"],
    "call left out": ["dropped-in-fact"],
    "result twice": ["answered-twice"],
    "arguments altered": ["arguments-altered"],
}


class Log:
    """Writes a random log on one wire."""

    def __init__(self, bodies: Any, random: Random) -> None:
        self._bodies, self._random = bodies, random
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
        for number in range(rounds):
            ids = [self._id() for _ in range(random.randint(2, 3))]
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

    def _id(self) -> str:
        self._made += 1
        return f"call_{self._random.choice('abcdef')}{self._random.getrandbits(40):010x}{self._made}zZ"


@on_every_wire
def test_an_agent_in_a_random_log_is_convicted_of_its_defect_alone(bodies: Any) -> None:
    for defect, seed in product(DEFECTS, SEEDS):
        log = Log(bodies, Random(seed)).written(defect)
        assert codes(audited(bodies.wire, *log)) == DEFECTS[defect], (defect, seed)
        assert codes(audited(bodies.wire, *log, *log)) == DEFECTS[defect], (defect, seed)


def test_no_correct_agent_is_accused() -> None:
    assert accusations(range(20_000 if is_thorough() else 400)) == []


def test_the_calls_of_correct_agents_are_found_in_their_histories() -> None:
    figures = [f for seed in range(200) for f in report(CorrectLog(seed)).wires.values()]
    assert sum(f.answered for f in figures) > 0.7 * sum(f.calls for f in figures)
