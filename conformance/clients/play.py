"""Sends the requests of an agent's table through a gateway, and judges each need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from toolparity.cassettes.surfaces import SURFACES
from toolparity.normalizer import json_codec
from toolparity.reports import results
from toolparity.reports.results import Result, Verdict, brief

from ..cases.case import Case
from ..cases.expected import Expected
from ..cases.scenarios import scenarios
from ..cases.traffic import responses
from ..gateway import correlation
from ..gateway.client import Client, Reply, curl
from ..gateway.conversation import Route, Turn, read_reply
from ..gateway.errors import GatewayFailed
from ..gateway.holding import hold_of
from ..gateway.judge import GatewaySubject
from ..gateway.preflight import check_route
from ..gateway.run import Gateway
from ..gateway.upstream import Served, Upstream
from ..laws.law import Failure
from ..runner import baseline
from ..runner.suite import Collected, ScenarioResults
from ..subjects import SubjectExchange
from . import SO
from .need import CHECKS, Played
from .table import CodingAgent, Need, Situation

#: What an agent does if an error takes the place of an answer.
_ENDS = "ends its turn with an error, if no retry is answered"


def run(
    gateway: Gateway,
    upstream: Upstream,
    agent: CodingAgent,
    patterns: Sequence[str] = (),
    *,
    expected: Callable[[str], Sequence[baseline.BaselineEntry]],
    left_out: Collection[Case] = (),
) -> results.Run:
    """Judge the needs of an agent whose ids match a pattern.

    Raises GatewayFailed if the gateway does not work at all.
    """
    route = next((route for route in gateway.routes.get(agent.wire, ()) if route.upstream == agent.surface), None)
    if route is None:
        raise GatewayFailed(f"{agent.title} is judged with a provider on its wire: {agent.surface}")
    client = Client(gateway.addresses[0], gateway.headers)
    check_route(client, agent.wire, route, upstream)
    needs = agent.chosen(patterns)
    subject = GatewaySubject(gateway.name, gateway.version, agent.name, [route])
    judged = list(_judged(agent, needs, subject.name, client, route, upstream, f"{gateway.called} --as {agent.name}"))
    client.close()
    collected = Collected(expected, left_out, unreleased=True)
    collected.add(subject, subject.name, [ScenarioResults(judged, [])])
    described = [
        results.ScenarioInfo(id, need.title, "should" if need.optional else "must") for id, need in needs.items()
    ]
    return replace(collected.run([]), scenarios=described)


def _judged(
    agent: CodingAgent,
    needs: Mapping[str, Need],
    subject: str,
    client: Client,
    route: Route,
    upstream: Upstream,
    called: str,
) -> Iterator[Result]:
    played: dict[str, Played] = {}
    for id, need in needs.items():
        situation = agent.situations[need.situation]
        if need.situation not in played:
            played[need.situation] = _played(agent, situation, client, route, upstream)
        seen = played[need.situation]
        failure = next(_failures(need, seen), None)
        mode = "stream" if seen.turn.served.stream else "plain"
        verdict, direct = Verdict(need.law, "pass"), ""
        if failure is not None:
            wanted, got = ("" if side is None else brief(side) for side in (failure.expected, failure.got))
            without = _ENDS if failure.effect == "refused" and not need.optional else need.without
            reason = f"{brief(failure.reason)}{SO}{agent.title} {agent.version} {without}"
            verdict = Verdict(need.law, "fail", reason, 0, wanted, got, failure.effect)
            if need.optional:
                verdict = Verdict(need.law, "unsupported", f"optional: {reason}")
            direct = curl(client.target.url + _path(agent, situation), seen.turn.body, seen.turn.sent)
        yield Result(subject, id, route.upstream, mode, "all", [verdict], called=called, direct=direct)


def _failures(need: Need, played: Played) -> Iterator[Failure]:
    """Yield what is missing. A need about the request is missing if no request has reached the provider."""
    turn = played.turn
    if not turn.captured and not played.situation.beside:
        shown = turn.reply.body[:200].decode("utf-8", "replace") or turn.reply.broken
        reason = f"the request does not reach the provider: HTTP {turn.reply.status} {shown}"
        yield Failure(0, reason, effect="refused")
        return
    try:
        name, *given = need.check.split()
        yield from CHECKS[name](played, *given)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        yield Failure(0, f"the form is another one: {type(error).__name__}: {error}", effect="malformed")


def _path(agent: CodingAgent, situation: Situation) -> str:
    return SURFACES[agent.surface].spec.base_path + (situation.path or agent.path)


def _played(agent: CodingAgent, situation: Situation, client: Client, route: Route, upstream: Upstream) -> Played:
    surface, token = route.surface, correlation.new_token()
    pieces = situation.changed(responses(situation.scenario, surface.name, "stream")[0].pieces)
    expected = scenarios()[situation.scenario].expected(surface.name, 0, stream=True)
    if situation.error:
        pieces, expected = [situation.error.encode()], Expected(stop="error", failed=True)
    body, path = agent.body(situation), _path(agent, situation)
    stream = body is not None and body.get("stream") is True
    streamed: list[bytes] = []
    if body is not None:
        body = {**body, "model": correlation.model_name(route.model, token)}
        if not stream and not situation.beside:  # a gateway may ask for a stream, too
            streamed, pieces = pieces, responses(situation.scenario, surface.name, "plain")[0].pieces
    hold = hold_of(surface.wire, surface.provider, pieces) if situation.hold else None
    on_body = None if hold is None else partial(hold.read, surface.wire, surface.provider)
    served = Served(surface.wire, stream, pieces, situation.status, streamed, hold)
    headers = {**agent.headers, **situation.headers, correlation.HEADER: token, **route.headers}
    beside = (
        {path.partition("?")[0].removeprefix("/v1"): json_codec.decode(situation.beside)} if situation.beside else {}
    )
    with upstream.ticket(token, served) as ticket:
        upstream.every, upstream.beside = ticket, beside
        try:
            reply = client.ask(path, body, headers, on_body)
        except TimeoutError:
            reply = Reply(0, b"", "no reply in time")
        upstream.every, upstream.beside = None, {}
    exchange = SubjectExchange(
        wire=surface.wire, provider=surface.provider, stream=stream, pieces=pieces, request=body, status=served.status
    )
    response, answer = read_reply(reply, surface.wire, surface, body, stream=stream)
    turn = Turn(body, headers, served, reply, ticket.captured, ticket.headers, response, answer)
    return Played(situation, surface, turn, exchange, expected)
