"""The providers of a turn: the first one, and those that continue the turn if it fails.

    Turn(provider, tools, fallback=[second, third])

A failure falls over if another provider may not have it: overload and rate limits (also a used up quota), a connection
that cannot be made or breaks, a timeout, and an HTTP status of 500 or above. The turn continues with the next provider
at once, and stays with it. The last provider is retried (`backoff`). Any other failure, such as a refused request or an
invalid key, ends the turn.

Only a round without an answer falls over. Its calls have not started, because they run from a complete answer. An
answer in which the provider itself ran a call does not fall over.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from toolparity.normalizer.conversation import Request
from toolparity.normalizer.errors import PolicyError
from toolparity.normalizer.model import Error
from toolparity.normalizer.requests import RequestWriter
from toolparity.normalizer.wires.registry import wire_name

from .backoff import is_overload, ran_elsewhere
from .machine.inputs import AddNote, AnswerFailed, AnswerReceived
from .machine.state import TurnState
from .output import OutputAdapter, OutputType
from .provider import Provider
from .secrets import public_text
from .tool_adapter import ToolAdapter


class Route:
    """One provider, and what writes the requests of the turn for it."""

    def __init__(self, provider: Provider, output: OutputType | None = None) -> None:
        self.provider = provider
        self.output = OutputAdapter(output, provider)
        self.writer = RequestWriter(wire_name(provider.wire), provider=provider.name)
        self.adapter = ToolAdapter(provider.wire, provider.name)

    @property
    def origin(self) -> dict[str, str | None]:
        """The wire, the name and the model of the provider, for notes."""
        return {"wire": self.provider.wire, "name": self.provider.name, "model": self.provider.model}


class Providers:
    """The providers of one turn, of which one is asked. ``fallback``: the others, in the order in which they follow.
    ``output``: the required form of the answer.

    Raises PolicyError if ``fallback`` is neither a provider nor a list of them.
    """

    def __init__(
        self, provider: Provider, fallback: Provider | Sequence[Provider] = (), output: OutputType | None = None
    ) -> None:
        others = fallback if isinstance(fallback, Sequence) else [fallback]
        for other in others:
            if not hasattr(other, "ask"):
                raise PolicyError(f"fallback must be a provider or a list of providers, got {fallback!r:.100}")
        self._routes = [Route(each, output) for each in (provider, *others)]
        self._asked = 0

    @property
    def current(self) -> Route:
        """The provider that is asked."""
        return self._routes[self._asked]

    def request(self, request: Request) -> Request:
        """Return the request with the model of the current provider, unless it is the first one."""
        if not self._asked:
            return request
        provider = self.current.provider
        return replace(request, model=provider.model or (request.model if request.wire == provider.wire else None))

    def after(self, state: TurnState, input: AnswerReceived | AnswerFailed) -> AddNote | None:
        """Change how the round is asked again if its answer failed, and return the note of that, or None.

        If the provider may have refused the form of the answer, the instructions contain it from now on. Otherwise the
        next provider is asked.
        """
        response = input.response
        error = input.error if isinstance(input, AnswerFailed) else _failure(input)
        round = state.round
        if error is None or round is None or state.phase != "asking":
            return None
        if response is not None and ran_elsewhere(response):
            return None
        reason = {"status": error.status, "why": public_text(error)}
        if self.current.output.is_refused(error):
            return AddNote(round.round_number, "instructed", reason)
        if not falls_over(error) or self._asked + 1 == len(self._routes):
            return None
        failed = self.current.origin
        self._asked += 1
        return AddNote(round.round_number, "failover", {"from": failed, "to": self.current.origin, **reason})


def falls_over(error: Error) -> bool:
    """Return whether another provider may answer the same request."""
    return bool(error.retryable) or is_overload(error) or error.type == "CircuitOpen"


def _failure(input: AnswerReceived) -> Error | None:
    """Return the error of an answer. An answer that ends early without one is a connection that broke."""
    response = input.response
    if response.error is None and not response.complete:
        return Error("Incomplete", "the answer broke off", None, True)
    return response.error
