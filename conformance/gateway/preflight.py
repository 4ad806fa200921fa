"""The check before a run: one plain question on each route, so that a wrong configuration is one clear error."""

from __future__ import annotations

from ..cases.case import Case
from ..cases.traffic import responses
from .client import Client, Reply
from .conversation import Conversation, Route
from .correlation import new_token
from .errors import GatewayFailed, NotJudged
from .questions import first_request
from .recorded import served_response
from .upstream import Upstream

#: A scenario that every wire can play.
_SCENARIO = "text-only"


def check_route(client: Client, wire: str, route: Route, upstream: Upstream) -> None:
    """Send one question and check that it reaches the upstream and that the answer comes back.

    Raises GatewayFailed with what the gateway answered.
    """
    token, case = new_token(), Case(_SCENARIO, route.upstream, "plain", "all")
    response = responses(case.scenario, case.surface, case.mode)[0]
    served = served_response(case, response)
    on = f"from the client {wire} to the upstream {route.upstream}, model {route.model}"
    unknown = upstream.unknown
    with upstream.ticket(token, served) as ticket:
        try:
            turn = Conversation(client, wire, route, ticket, token, first_request(case, wire, token)).ask(served)
        except NotJudged as error:
            raise GatewayFailed(f"{error.what} ({on})", hint="name its wire with --upstream") from None
        except TimeoutError:
            raise GatewayFailed(f"the gateway does not answer in time ({on})", where=client.target.url) from None
    if not turn.captured:
        lost = "a request without the case's token reached the upstream" if upstream.unknown > unknown else ""
        reason = lost or "no request reached the upstream"
        raise GatewayFailed(f"{reason} ({on}): {_shown(turn.reply)}", where=client.target.url, hint=_hint(turn.reply))
    if turn.answer.error is not None:
        reason = f"the upstream answered, but the gateway did not ({on}): {_shown(turn.reply)}"
        raise GatewayFailed(reason, where=client.target.url)


def _shown(reply: Reply) -> str:
    if not reply.status:
        return reply.broken
    text = " ".join(reply.body[:300].decode("utf-8", "replace").split())
    return f"the gateway answered HTTP {reply.status} {text}".rstrip()


def _hint(reply: Reply) -> str:
    if reply.status in (401, 403):
        return "set the gateway's key in TOOLPARITY_GATEWAY_KEY"
    if reply.status in (404, 405):
        return "does the gateway offer this wire? see --client, and --model for the model's name"
    return "the gateway must send its requests to the address of --listen; see --model for the model's name"
