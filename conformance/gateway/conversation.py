"""One conversation through a gateway: the client asks, the upstream answers, the client continues with the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from toolparity.cassettes.recorder.script_driver import json_form
from toolparity.cassettes.surfaces import SURFACES, Surface
from toolparity.normalizer.answers import answer
from toolparity.normalizer.conversation import Message, Request, TextPart, ToolResult, User
from toolparity.normalizer.errors import ToolparityError
from toolparity.normalizer.model import Response
from toolparity.normalizer.policies import select
from toolparity.normalizer.requests import write_request

from ..answer import SubjectAnswer, parse_answer
from ..oracle import facts
from ..subjects import CallResult, SubjectExchange
from ..subjects.reference import read_answer
from . import correlation
from .client import Client, Reply
from .errors import NotJudged, NotStreamed
from .questions import client_surface, write
from .upstream import Served, Ticket


class Route(Struct, frozen=True):
    """How a client reaches one upstream surface through the gateway.

    ``model``: the model name, in which * is replaced by the token. ``headers``: further headers of the request.
    ``other``: the model for cases that state settings which ``model`` refuses, or "".
    """

    upstream: str
    model: str
    headers: dict[str, str] = {}
    other: str = ""

    @property
    def surface(self) -> Surface:
        return SURFACES[self.upstream]


class Turn(Struct, frozen=True):
    """One request and its reply. ``served``: the response of the upstream. ``sent``: the headers of the client.

    ``captured``: the bodies of the requests that reached the upstream, normally one; ``headers``: their headers.
    ``response``: the reply in canonical form, or None if it has none. ``answer``: the reply for the laws.
    """

    body: Any
    sent: Mapping[str, str]
    served: Served
    reply: Reply
    captured: list[Any]
    headers: list[Mapping[str, str]]
    response: Response | None
    answer: SubjectAnswer


class Conversation:
    """A conversation on one ``route``. ``request``: the canonical request that is sent next.

    ``headers``: further headers of its requests.
    """

    def __init__(
        self,
        client: Client,
        wire: str,
        route: Route,
        ticket: Ticket,
        token: str,
        request: Request,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._client = client
        self._wire = wire
        self.route = route
        self._ticket = ticket
        self._token = token
        self.request = request
        self._headers = {correlation.HEADER: token, **(headers or {}), **route.headers}

    def ask(self, served: Served) -> Turn:
        """Send the request; the upstream answers it with ``served``.

        Raises NotStreamed if the gateway asks for a plain response instead of a stream, NotJudged if it asks the
        upstream for something else than this response, GatewayFailed, and TimeoutError.
        """
        ticket = self._ticket
        ticket.serve(served)
        body, on_body = self.body(), None
        if served.hold is not None:
            speaks = client_surface(self._wire, self.route.surface)
            on_body = partial(served.hold.read, speaks.wire, speaks.provider)
        reply = self._client.send(self._wire, body, self._headers, on_body)
        if ticket.refused and not ticket.captured:
            raise (NotStreamed if ticket.plain else NotJudged)(ticket.refused[0])
        response, read = read_reply(reply, self._wire, self.route.surface, body, stream=served.stream)
        return Turn(body, self._headers, served, reply, ticket.captured, ticket.headers, response, read)

    def body(self) -> Any:
        """Return the body of the next request on the client's wire."""
        body = write(self.request, self._wire, self.route.surface)
        return {**body, "model": correlation.model_name(self.route.model, self._token)}

    def upstream_body(self) -> Any:
        """Return the same request as an upstream body that carries everything: what a correct gateway sends.

        It lacks a limit of output tokens that the client does not state: the gateway chooses it.
        """
        surface = self.route.surface
        body = json_form(write_request(self.request, surface.wire, provider=surface.provider).body)
        limit = facts(self._wire).limit
        is_stated = not limit or {limit, "max_tokens"} & self.request.params.keys()
        if not is_stated and facts(surface.wire).required == "limit":
            del body["max_tokens"]
        return body

    def continue_with(self, turn: Turn, results: Sequence[CallResult], ask: str | None) -> bool:
        """Extend the request by a reply and the results of its calls. ``ask``: the user's next message.

        Return False if the client cannot continue, because the reply is an error or broken.
        """
        messages = next_messages(turn.response, results, ask)
        if messages is None:
            return False
        self.request = replace(self.request, messages=[*self.request.messages, *messages])
        return True


def next_messages(response: Response | None, results: Sequence[CallResult], ask: str | None) -> list[Message] | None:
    """Return the messages that follow a response, or None if it cannot be continued."""
    if response is None or response.error is not None or not response.complete or not response.choices:
        return None
    outcomes = [
        ToolResult(result.call_id, [TextPart(result.content)], result.is_error, result.name) for result in results
    ]
    try:
        messages = answer(response, select(response, "all", None, response.choices[0].index), outcomes)
    except ToolparityError:
        return None  # two calls have one id, so that no result can be assigned
    return messages if ask is None else [*messages, User([TextPart(ask)])]


def read_reply(
    reply: Reply, wire: str, upstream: Surface, request: Any, *, stream: bool
) -> tuple[Response | None, SubjectAnswer]:
    """Return a reply in canonical form, or None, and as the answer of a subject.

    An error response, or an error event in a stream, is an answer with an error: the gateway refused loudly.
    """
    if not reply.status:
        return None, SubjectAnswer(error=reply.broken, complete=False)
    speaks = client_surface(wire, upstream)
    exchange = SubjectExchange(
        wire=speaks.wire,
        provider=speaks.provider,
        stream=stream,
        pieces=[reply.body],
        request=request,
        status=reply.status,
    )
    try:
        response = read_answer(exchange)
    except ToolparityError as error:
        shown = reply.body[:200].decode("utf-8", "replace")
        return None, SubjectAnswer(error=f"HTTP {reply.status}: {error.what}: {shown}", complete=False)
    read = parse_answer({"response": msgspec.to_builtins(response)})
    read = replace(read, blocks=None, findings=[])
    if reply.broken:
        read = replace(
            read, error=None, failed=False, complete=False
        )  # an event that was cut is not an error of the gateway
    elif response.error is not None:
        reason = f"HTTP {reply.status}: {response.error.message}"
        read = replace(read, error=reason[:300], complete=False)
    elif reply.status >= 400:
        shown = reply.body[:200].decode("utf-8", "replace")
        read = replace(read, error=f"HTTP {reply.status}: {shown}", failed=True, complete=False)
    return response, read


def judged_members(answer: SubjectAnswer) -> tuple[Any, ...]:
    """Return the members that the laws judge. Ids and texts of errors may differ between two equal requests."""
    calls = [(call.name, call.arguments, call.text) for call in answer.calls]
    return calls, answer.text, answer.stop, answer.complete, answer.usage, answer.error is None, answer.failed
