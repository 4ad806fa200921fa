"""The judge of a gateway, for one client wire: it plays conversations and lets the laws check them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from toolparity.cassettes.stated import PLACES
from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer.conversation import Request
from toolparity.normalizer.requests import check_request
from toolparity.reports.results import Result, Verdict

from ..cases.broken import CUTS
from ..cases.case import Case, CaseRound
from ..cases.expected import Expected
from ..cases.scenarios import scenarios
from ..errors import InvalidAnswer, RefusedRequest, UnstableAnswer
from ..laws.law import Unjudged
from ..laws.matching import match_calls
from ..laws.requests import follow_up
from ..oracle import oracle
from ..oracle.settings import settings
from ..runner.judge import Judge
from ..subjects import FollowUp, SubjectExchange
from .asked import COMMON
from .client import Client, curl
from .conversation import Conversation, Route, Turn, judged_members
from .correlation import new_token
from .errors import NotJudged
from .http_rules import Fault, faults_of, form_faults
from .judged_answer import judged_answer
from .laws import GATEWAY_LAWS, GatewayRound
from .preflight import check_route
from .questions import client_surface, first_request, further_headers, needs_other_model
from .recorded import closing_response, exchange_of, recorded_responses, served_response
from .reduction import Pair, not_judged, reduced
from .sdk_reading import SdkReader
from .upstream import Served, Upstream

#: The ways in which the upstream splits a stream again. Bytes sent one at a time cost more time than they show,
#: because the network merges them.
CHUNKINGS = ("odd", "utf8", "merged")
_CLAIMS = frozenset(("stream", "text", "stop", "usage", "answers"))


class GatewaySubject:
    """A gateway behind one client wire, as the laws see it. ``targets``: the wires for the law `handoff`."""

    def __init__(self, name: str, version: str, client: str, routes: Sequence[Route]) -> None:
        self.name = f"{name} as {client}"
        self.version = version
        self.client = client
        self.routes = {route.upstream: route for route in routes}
        self.targets = frozenset(route.surface.wire for route in routes if route.surface.provider == _owner(route))
        self.claims = _CLAIMS | ({"handoff"} if len(self.targets) > 1 else frozenset())
        self.wires: frozenset[str] | None = None

    def read(self, exchange: SubjectExchange) -> Any:
        """Gateways are judged by `GatewayJudge` only."""
        raise InvalidAnswer("a gateway reads no bytes", hint="use toolparity check --gateway")


class _Played(Struct, frozen=True):
    """A played conversation, by round.

    ``followed``: the client's next request; ``asked``: its body. ``captured``: the upstream's next request.
    ``refused``: why there is none.
    """

    token: str
    rounds: list[CaseRound]
    turns: list[Turn]
    followed: dict[int, Request]
    asked: dict[int, Any]
    captured: dict[int, Any]
    refused: dict[int, str]


class GatewayJudge(Judge):
    """Plays each case as a conversation. ``client``: used by this judge only; ``upstream``: shared.

    ``called``: the options that select the gateway, for the command that repeats a case.
    """

    def __init__(
        self,
        subject: GatewaySubject,
        client: Client,
        upstream: Upstream,
        *,
        twice: bool = True,
        called: str = "",
        exhaustive: bool = False,
    ) -> None:
        super().__init__(subject, twice=twice, called=called, exhaustive=exhaustive)
        self._gateway = subject
        self._client = client
        self._upstream = upstream
        self._played: dict[tuple[Case, str | None], _Played] = {}
        self._compared_rounds: dict[tuple[Case, str | None], list[CaseRound]] = {}
        self._reasons: dict[Case, str] = {}
        self._sdk = SdkReader(subject.client)

    def forget(self) -> None:
        super().forget()
        self._played.clear()
        self._compared_rounds.clear()
        self._reasons.clear()

    def unsupported(self, case: Case) -> str:
        """Return why a case cannot be judged through this gateway, or ""."""
        if case.surface not in self._gateway.routes:
            return f"the gateway has no route to {case.surface}"
        if case.policy != "all":
            return "a gateway applies no policies"
        if case not in self._reasons:
            try:
                first_request(case, self._gateway.client, new_token())
            except NotJudged as error:
                self._reasons[case] = f"not judged: {error.what}"
            else:
                self._reasons[case] = ""
        return self._reasons[case]

    def result(self, case: Case, laws: Any = None) -> Result:
        """Return the verdicts of a case. A law that the client's wire cannot fulfil is unsupported, with the reason."""
        if not self.unsupported(case):
            try:
                self.rounds(case)
            except NotJudged as error:
                self._reasons[case] = f"not judged: {error.what}"
            except InvalidAnswer:
                pass  # raised again, and reported as a failure
        result = super().result(case, laws or GATEWAY_LAWS)
        played = self._played.get((case, None))
        if played is None:
            return result
        reasons = self._not_judged(case, played)
        verdicts = [
            Verdict(verdict.check, "unsupported", f"not judged: {reasons[verdict.check]}")
            if verdict.check in reasons
            else verdict
            for verdict in result.verdicts
        ]
        return replace(result, verdicts=verdicts)

    def _not_judged(self, case: Case, played: _Played) -> dict[str, str]:
        """Return law -> reason. The law `alike` compares two upstreams, so that both must be expressible."""
        reasons = not_judged(self._pair(case), played.rounds)
        for (other, chunking), others in self._played.items():
            if chunking is None and other.mode == case.mode and other.surface != case.surface:
                found = not_judged(self._pair(other), others.rounds)
                if "alike" in found:
                    reasons.setdefault("alike", found["alike"])
        return reasons

    def rounds(self, case: Case, chunking: str | None = None) -> list[CaseRound]:
        """Return the answers in a case. Other chunkings return the same answer if its judged members are equal.

        A conversation ends with the first response that is cut.
        """
        if chunking in CUTS:
            if (case, chunking) not in self._played:
                self._played[case, chunking] = self._play(case, chunking)
            return self._played[case, chunking].rounds
        if chunking is not None and chunking not in CHUNKINGS:
            return self.rounds(case)
        if (case, chunking) not in self._played:
            self._played[case, chunking] = played = self._play(case, chunking)
            if chunking is None:
                self._compared_rounds[case, None] = self._rounds[case] = played.rounds  # `traffic` reads the latter
                if self._twice and not case.stream:  # streams are read again with other chunkings
                    self._check_stable(case)
            else:
                self._compared_rounds[case, chunking] = self._compared(case, played.rounds)
        return self._compared_rounds[case, chunking]

    def _compared(self, case: Case, others: list[CaseRound]) -> list[CaseRound]:
        base = self.rounds(case)
        if len(base) == len(others) and _same(base, others):
            return base
        if self._twice:
            self._check_stable(case)
        return [*others, *base[len(others) :]]

    def _check_stable(self, case: Case) -> None:
        """Raise UnstableAnswer if a second conversation differs in a judged member."""
        if not _same(self._played[case, None].rounds, self._play(case, None).rounds):
            raise UnstableAnswer("the gateway is unstable: it gave two different replies to the same response")

    def _pair(self, case: Case) -> Pair:
        return Pair(SURFACES[case.surface].wire, self._gateway.client)

    def _sibling(self, case: Case, chunking: str | None) -> list[CaseRound] | None:
        if case.surface not in self._gateway.routes:
            return None
        try:
            return super()._sibling(case, chunking)
        except NotJudged as error:
            if chunking is None:
                return None
            raise UnstableAnswer(f"the gateway is unstable: {error.what}, in other pieces only") from None

    def _play(self, case: Case, chunking: str | None) -> _Played:
        """Play a conversation to its end, or until the client cannot continue."""
        token, route = new_token(), _route_of(case, self._gateway.routes[case.surface])
        recorded = recorded_responses(case, chunking)
        played = _Played(token, [], [], {}, {}, {}, {})
        if not recorded:
            return played
        request, headers = first_request(case, self._gateway.client, token), further_headers(case, self._gateway.client)
        with self._upstream.ticket(token, served_response(case, recorded[0])) as ticket:
            talk = Conversation(self._client, self._gateway.client, route, ticket, token, request, headers)
            for number, response in enumerate(recorded):
                # The laws compare requests in the conversation with the recorded pieces only.
                exchange = exchange_of(case, response, None if chunking else talk.upstream_body())
                turn = self._ask(talk, served_response(case, response, number, chunking))
                if number:
                    played.asked[number - 1] = turn.body
                if number and turn.captured:
                    played.captured[number - 1] = turn.captured[0]
                expected = reduced(self._expected(case, number), self._pair(case), stream=case.stream)
                answer = judged_answer(turn, expected, exchange, self._pair(case))
                faults = () if chunking else tuple(self._faults(turn, exchange, expected, case, number))
                round = GatewayRound(number, exchange, expected, answer, sent=turn.captured, faults=faults)
                played.rounds.append(round)
                played.turns.append(turn)
                last = number + 1 == len(recorded)
                if chunking in CUTS or (last and not scenarios()[case.scenario].file.continues):
                    break
                results = follow_up(round, exchange.wire, exchange.provider).results
                if not _saw_all_calls(round) or not talk.continue_with(turn, results, _next_ask(case, number)):
                    break
                played.followed[number] = talk.request
                if last:
                    played.asked[number] = talk.body()
                    try:
                        final = self._ask(talk, closing_response(case.surface, stream=case.stream))
                    except NotJudged as error:  # the gateway sent it to another upstream than the requests before
                        played.refused[number] = error.what
                        break
                    if final.captured:
                        played.captured[number] = final.captured[0]
                    else:
                        played.refused[number] = final.answer.error or f"HTTP {final.reply.status}"
        for number in (*played.captured, *played.refused):
            played.rounds[number] = replace(played.rounds[number], following=played.captured.get(number) or True)
        return played

    def _faults(
        self, turn: Turn, exchange: SubjectExchange, expected: Expected, case: Case, number: int
    ) -> Iterator[Fault]:
        """Yield what is wrong in one request and reply beside their content in the judge's reading."""
        yield from faults_of(turn, exchange, expected, self._pair(case), number)
        provider = client_surface(self._gateway.client, SURFACES[case.surface]).provider
        for failure in self._sdk.failures(turn, exchange, provider, expected, number):
            yield Fault("conservation", failure)
        reading = partial(self._sdk.reading, turn, exchange, provider)
        yield from form_faults(turn, exchange, expected, self._pair(case), number, reading)

    def _ask(self, talk: Conversation, served: Served) -> Turn:
        """Ask the gateway. A time-out is a failure of the case, unless the gateway answers no other question either."""
        try:
            return talk.ask(served)
        except TimeoutError:
            check_route(self._client, self._gateway.client, talk.route, self._upstream)  # raises GatewayFailed
            raise InvalidAnswer("the gateway did not answer in time") from None

    def _expected(self, case: Case, number: int) -> Expected:
        return scenarios()[case.scenario].expected(case.surface, number, stream=case.stream)

    def _next_request(self, follow_up: FollowUp) -> Any:
        """Return what the gateway sent upstream after a round: in the conversation, or to another upstream."""
        case, number = self._place(follow_up.exchange)
        played = self._played[case, None]
        if follow_up.to == follow_up.exchange.wire:
            self._check_asked(played.asked[number], follow_up)
            if number in played.refused:
                raise RefusedRequest(f"the gateway refused the next request: {played.refused[number]}")
            return played.captured[number]
        route = next(
            route
            for route in self._gateway.routes.values()
            if (route.surface.wire, route.surface.provider) == (follow_up.to, follow_up.provider)
        )
        return self._hand_over(case, number, route, follow_up)

    def _check_asked(self, asked: Any, follow_up: FollowUp) -> None:
        """Raise Unjudged if the client's own request breaks the rules of the provider.

        A history of another provider can do so, for instance by its long ids or without signed thinking.
        """
        if self._gateway.client != follow_up.to:
            return
        for violation in check_request(asked, follow_up.to, provider=follow_up.provider):
            raise Unjudged(f"not judged: the client's own request breaks the rule {violation.rule}")

    def _hand_over(self, case: Case, number: int, route: Route, follow_up: FollowUp) -> Any:
        played, served = self._played[case, None], closing_response(route.upstream, stream=case.stream)
        token, request = played.token, played.followed[number]  # the history contains the token
        with self._upstream.ticket(token, served) as ticket:
            try:
                fitting = _route_of(case, route)
            except NotJudged as error:
                raise Unjudged(f"not judged: {error.what}") from None
            talk = Conversation(self._client, self._gateway.client, fitting, ticket, token, request)
            try:
                turn = self._ask(talk, served)
            except NotJudged as error:  # the gateway sent it to another upstream than the one of the model
                raise RefusedRequest(f"the request did not reach its upstream: {error.what}") from None
        self._check_asked(turn.body, follow_up)
        if not turn.captured:
            if lacking := settings(turn.body, self._gateway.client).keys() - PLACES[follow_up.to].keys() - COMMON:
                raise Unjudged(f"not judged: a gateway may refuse a setting that {follow_up.to} lacks: {min(lacking)}")
            raise RefusedRequest(f"the gateway refused the next request: {turn.answer.error}")
        return turn.captured[0]

    def _place(self, exchange: SubjectExchange) -> tuple[Case, int]:
        """Return the case and the round of an exchange."""
        for (case, chunking), played in self._played.items():
            for round in played.rounds:
                if chunking is None and round.exchange is exchange:
                    return case, round.number
        raise InvalidAnswer("the gateway did not get this response")

    def close(self) -> None:
        """Close the connection to the gateway."""
        self._client.close()

    def direct_request(self, case: Case, number: int) -> str:
        """Return the client's request of a round as a command for a shell, or "" if it was not sent."""
        played = self._played.get((case, None))
        if played is None or number >= len(played.turns):
            return ""
        headers = {**further_headers(case, self._gateway.client), **self._gateway.routes[case.surface].headers}
        return curl(self._client.url(self._gateway.client), played.turns[number].body, headers)


def _route_of(case: Case, route: Route) -> Route:
    """Return the route with a model that takes what the case states. Raises NotJudged if none is known."""
    if not needs_other_model(case, route.surface.provider):
        return route
    if not route.other:
        raise NotJudged(f"the model {route.model} may refuse what the request states")
    return replace(route, model=route.other)


def _owner(route: Route) -> str:
    return route.surface.spec.owner


def _saw_all_calls(round: CaseRound) -> bool:
    """Return whether the client got every call, so that it can answer all of them."""
    wanted = [call for call in round.expected.calls if not call.choice]
    indexes, _ = match_calls(wanted, round.answer.calls)
    return all(index in indexes for index in range(len(wanted)))


def _next_ask(case: Case, number: int) -> str | None:
    script = scenarios()[case.scenario].script
    if script is None or number + 1 >= len(script.rounds):
        return None
    return script.rounds[number + 1].ask


def _same(rounds: Sequence[CaseRound], others: Sequence[CaseRound]) -> bool:
    """Return whether the judged members are equal.

    How much of a broken stream arrives depends on the network. Token counts that are not the provider's can be
    estimates, which differ with the question's token: the law `usage` judges them once.
    """
    pairs = zip(rounds, others, strict=False)
    return len(rounds) == len(others) and all(
        not round.expected.complete or _comparable(round) == _comparable(other) for round, other in pairs
    )


def _comparable(round: CaseRound) -> tuple[Any, ...]:
    answer, counted = round.answer, round.expected.usage or oracle(round.exchange.wire).usage(round.exchange) or {}
    right = bool(counted) and all((answer.usage or {}).get(name) == count for name, count in counted.items())
    return judged_members(answer if right else replace(answer, usage=None))
