"""The bench of the known-bad subjects with one mistake: the reference makes it, and the laws judge its answers."""

from __future__ import annotations

import pickle
from typing import Any, cast

from msgspec.structs import replace

from toolparity.normalizer.errors import ToolparityError

from ..answer import parse_answer, same_answer
from ..cases.case import Case, CaseRound, Evidence
from ..cases.offered import not_for_agents, offered_tools
from ..cases.scenarios import scenarios
from ..errors import InvalidAnswer
from ..known_bad.generated.brief import CLAIMS, brief_form
from ..known_bad.mistakes import Mistake
from ..known_bad.mistakes.agents import Agent
from ..laws import LAWS
from ..laws.requests import follow_up, targets
from ..subjects import FollowUp, Subject, SubjectExchange
from ..subjects.claims import READER_CLAIMS
from ..subjects.reference import Reference
from .bench import CachedCase, Death, cached_cases
from .judge import CaseFilter, Judge, verdict_of

_OF_REQUESTS = [LAWS[id] for id in ("answered", "replay", "handoff")]


class _Reader(Reference):
    """The reference with a mistake in reading."""

    def __init__(self, mistake: Mistake) -> None:
        self._mistake = mistake
        self.claims = CLAIMS if mistake.brief else READER_CLAIMS

    def read(self, exchange: SubjectExchange) -> dict[str, Any]:
        form = super().read(self._mistake.exchange(exchange))
        if form.get("response") is None:
            return form
        if self._mistake.answer is not None:
            self._mistake.answer(form, exchange)
        return brief_form(form) if self._mistake.brief else form


def _acts(agent: Agent, cached: CachedCase) -> str:
    """Return what an agent does in a case, as text: its runs and its error."""
    done: list[Any] = []
    for round in cached.rounds:
        tools = offered_tools(round.exchange.request, round.expected)
        done.append(agent.read(replace(round.exchange, tools=tools)))
    return repr(done)


def _failed(subject: Any, cached: CachedCase) -> tuple[str, ...]:
    judge = Judge(cast(Subject, subject), twice=False)
    verdicts = judge.result(cached.case, LAWS.values()).verdicts
    return tuple(verdict.check for verdict in verdicts if verdict.outcome == "fail")


class MistakeBench:
    """All selected cases, in which subjects make their mistakes."""

    def __init__(self, case_filter: CaseFilter) -> None:
        self._cases = cached_cases(case_filter, rejected=True)
        self._requests: dict[tuple[int, str], bytes] = {}
        self._acts: dict[Case, str] = {}

    def kill(self, mistake: Mistake) -> Death:
        """Return how the subject fares."""
        changed = False
        for cached in self._cases:
            if cached.case.policy != "all" and mistake.group not in ("policies", "agents"):
                continue
            if mistake.steps:
                failed = self._mistreated(mistake, cached)
            else:
                failed = self._miswritten(mistake, cached) if mistake.request else self._misread(mistake, cached)
            changed = changed or failed is not None
            if failed:
                return Death(mistake.name, mistake.field, cached.case.id, cached.case.scenario, failed, True)
        if mistake.answer is not None:  # it may only show in a stream that the law any-cut breaks
            for cached in self._cases:
                if cached.case.stream and (failed := _failed(_Reader(mistake), cached)):
                    return Death(mistake.name, mistake.field, cached.case.id, cached.case.scenario, failed, True)
        return Death(mistake.name, mistake.field, "", "", (), changed)

    def _misread(self, mistake: Mistake, cached: CachedCase) -> tuple[str, ...] | None:
        """Return the laws that fail the subject in a case, or None if it makes no mistake there."""
        subject = _Reader(mistake)
        pairs = zip(cached.rounds, cached.forms, strict=True)
        if not any(_reads_differently(subject, mistake, round, form) for round, form in pairs):
            return None
        return _failed(subject, cached)

    def _mistreated(self, mistake: Mistake, cached: CachedCase) -> tuple[str, ...] | None:
        """The same for an agent, in comparison with a correct one."""
        if cached.case not in self._acts:
            unfit = not_for_agents(scenarios()[cached.case.scenario], cached.case)
            self._acts[cached.case] = "" if unfit else _acts(Agent(), cached)
        correct, agent = self._acts[cached.case], Agent(mistake.steps or {})
        if not correct or _acts(agent, cached) == correct:
            return None
        failed = _failed(agent, cached)
        return tuple(law for law in failed if law not in _failed(Agent(), cached)) if failed else failed

    def _miswritten(self, mistake: Mistake, cached: CachedCase) -> tuple[str, ...] | None:
        """The same for a subject that writes requests. It reads as the reference does."""
        if not any(self._writes_differently(mistake, cached, round) for round in cached.rounds if round.following):
            return None

        def next_request(wanted: FollowUp) -> Any:
            request = self._written(wanted)
            mistake.writes(request["body"], wanted)
            return request

        evidence = Evidence(
            cached.case, cast(Subject, Reference()), cached.rounds, [], lambda case, chunking: None, next_request
        )
        verdicts = [verdict_of(law, evidence) for law in _OF_REQUESTS]
        return tuple(v.check for v in verdicts if v is not None and v.outcome == "fail")

    def _writes_differently(self, mistake: Mistake, cached: CachedCase, round: CaseRound) -> bool:
        """Return whether the subject writes another request after a round, for any wire that a law asks for."""
        if mistake.group == "policies" and round.exchange.policy == "all" and round.exchange.limit is None:
            return False
        wire = round.exchange.wire
        for to, provider in [(wire, round.exchange.provider), *targets(cached.case, wire)]:
            wanted = follow_up(round, to, provider)
            body = self._written(wanted)["body"]
            mistake.writes(body, wanted)
            if body != self._written(wanted)["body"]:
                return True
        return False

    def _written(self, wanted: FollowUp) -> Any:
        """Return the reference's request."""
        key = (id(wanted.exchange), wanted.to)
        if key not in self._requests:
            self._requests[key] = pickle.dumps(Reference().next_request(wanted))
        return pickle.loads(self._requests[key])


def _reads_differently(subject: _Reader, mistake: Mistake, round: CaseRound, pickled: bytes | None) -> bool:
    """Return whether the subject reads a response differently, in the form that it returns."""
    try:
        if mistake.answer is None:
            if mistake.exchange(round.exchange) is round.exchange:
                return False
            read = subject.read(round.exchange)
        elif pickled is None:
            return False
        else:
            read = pickle.loads(pickled)
            mistake.answer(read, round.exchange)
            if read == round.answer.form:
                return False
            read = brief_form(read) if mistake.brief else read
        if not mistake.brief:
            return not same_answer(parse_answer(read), round.answer)
        form = round.answer.form
        return "calls" in read if form is None else bool(read != brief_form(form))
    except (ToolparityError, InvalidAnswer, TypeError, ValueError, KeyError, AttributeError, IndexError):
        return True
