"""The exchange of one request with the provider: its answer, or its failure, becomes inputs of the machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Protocol, cast

from toolparity.normalizer.conversation import Encoded, Request
from toolparity.normalizer.decoder import StreamDecoder
from toolparity.normalizer.errors import ToolLimitReached, ToolparityError
from toolparity.normalizer.events import Event
from toolparity.normalizer.headers import rate_limits
from toolparity.normalizer.model import Error, Response
from toolparity.normalizer.wires.registry import wire_name

from .answer_reader import AnswerDecoder, AnswerReader
from .block_tracker import BlockTracker
from .execution.exceptions import is_failure, shortened, whole_message
from .machine.inputs import AnswerFailed, Input
from .provider import Provider
from .providers import Route
from .retry_after import demanded, headers_of
from .tokens import TokenCounter, with_estimate

#: Exceptions of a connection that cannot be made, breaks or times out: Python's, and by their names those of httpx,
#: aiohttp, urllib3, botocore and the SDKs. Their subclasses count, too.
_CONNECTION = frozenset(
    (
        *("ConnectionError", "TimeoutError", "gaierror", "TransportError", "APIConnectionError", "HTTPClientError"),
        *("ProtocolError", "ClientConnectionError", "ClientPayloadError"),
    )
)


class Post(Protocol):
    """Queues inputs of the machine. The future is set when they are processed.

    ``paced``: it is set when the consumer has their events, too, so that a fast provider waits for a slow consumer.
    """

    def __call__(self, *inputs: Input, paced: bool = False) -> Awaitable[None]: ...


#: Changes a request before it is sent, such as to shorten its history or write calls as text. The result must be legal.
Prepare = Callable[[Request], Request]
#: Wraps the decoder of an answer. The request is the complete one, with its tools, before `Prepare` changed it.
WrapDecoder = Callable[[StreamDecoder, Request], AnswerDecoder]


class ModelCall:
    """Sends one request and decodes its answer. ``partial`` returns the partial answer if the turn is cancelled.

    ``route``: writes the request, and restores its answer. ``choice``: the index of the choice whose blocks become
    inputs. ``counter``: estimates what the provider does not report of the usage.
    """

    def __init__(
        self,
        provider: Provider,
        route: Route,
        request: Request,
        choice: int,
        prepare: Prepare | None = None,
        reader: WrapDecoder | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        #: The request as it is sent.
        self.request = route.output.instructed(
            route.adapter.adapt(prepare(request) if prepare is not None else request)
        )
        self.encoded: Encoded = route.output.applied(route.writer.write(self.request))
        self._provider = provider
        decoder = StreamDecoder(wire_name(provider.wire), provider=provider.name, request=self.encoded.body)
        self._answer = AnswerReader(decoder, reader(decoder, request) if reader is not None else None)
        self._route = route
        self._tracker = BlockTracker(self.encoded, choice, route.adapter.restored_call)
        self._response: Response | None = None
        self._finished = False
        self._cut = False
        self._last: list[Input] = []  # of the chunk that ended the answer: one transaction has them and the answer
        self._counter = counter if counter is not None else TokenCounter()
        #: The wait in seconds that an error response demands.
        self.retry_after: float | None = None

    async def run(self, post: Post) -> tuple[list[Input], Response | None]:
        """Post the blocks of the answer as they arrive. Return the inputs that remain to be posted, and the answer.

        If the provider fails, the answer is None, and the last input is `AnswerFailed`.
        """
        try:
            async with aclosing(self._answer.events(self._provider.ask(self.encoded.body))) as answer:
                async for events in answer:
                    inputs = self._tracker.feed(events)
                    if self._answer.is_over:
                        self._last += inputs
                    elif inputs:
                        await post(*inputs, paced=True)
            response = self._finish()
        except ToolLimitReached as reached:
            self._cut = True
            await post(*self._tracker.feed(cast(tuple[Event, ...], reached.events)), paced=True)
            response = self._finish()
        except BaseException as error:
            if not is_failure(error):
                raise
            return self.fail(error), None
        self.retry_after = demanded(self._answer.whole) if self._answer.whole is not None else None
        return self._rest(response), response

    def partial(self) -> tuple[list[Input], Response | None]:
        """Return the inputs that close the open blocks as cut, and the partial answer.

        If the answer has ended already, `run` returned its inputs, and the list is empty.
        """
        if self._finished:
            return [], self._response
        try:
            response = self._restored(self._answer.partial())
        except Exception:
            return self._last, None  # the partial answer cannot be decoded
        return self._rest(response), response

    def fail(self, error: BaseException) -> list[Input]:
        """Return the inputs for an answer that this error ended: the open blocks are closed, then `AnswerFailed`."""
        self._answer.rate_limits |= rate_limits(headers_of(error))
        inputs, response = self.partial()
        return [*inputs, AnswerFailed(error_of(error), response, demanded(error))]

    def _rest(self, response: Response) -> list[Input]:
        return [*self._last, *self._tracker.finish(response)]

    def _finish(self) -> Response:
        return self._restored(self._answer.finish())

    def _restored(self, response: Response) -> Response:
        self._finished = True
        response = self._route.output.restored(self._route.adapter.restored(self.encoded.restored(response)))
        cut = self._cut or not response.complete
        self._response = with_estimate(response, self.request, self._counter, cut=cut)
        return self._response


def error_of(error: BaseException) -> Error:
    """Convert an exception of a client.

    ``retryable`` follows from its HTTP status. Without one, it is true for a failed connection, and otherwise None.
    """
    status = _status(error)
    retryable: bool | None = True if _is_connection(error) else None
    if status is not None:
        retryable = status in (408, 409, 425, 429) or status >= 500
    return Error(type(error).__name__, shortened(whole_message(error)), status, retryable)


def _is_connection(error: BaseException) -> bool:
    own = isinstance(error, ToolparityError)  # such as the time limit of the turn
    return not own and any(kind.__name__ in _CONNECTION for kind in type(error).__mro__)


def _status(error: BaseException) -> int | None:
    """The HTTP status of a client's exception: ``status_code`` (httpx), ``status`` (aiohttp), ``code`` (urllib)."""
    for name in ("status_code", "status", "code"):
        try:
            status = getattr(error, name, None)
        except Exception:  # a property raised
            continue
        if isinstance(status, int) and not isinstance(status, bool) and 100 <= status < 600:
            return status
    return None
