"""The interface of a subject, with what it gets and returns."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from toolparity.normalizer.model import Policy, Wire

from .tools import Tool


class SubjectExchange(Struct, frozen=True, kw_only=True):
    """One provider response for a subject to read, with the policy to apply.

    ``pieces``: the body in the pieces in which it arrives, one piece if it was not streamed; serialized messages on
    wires with messages. ``request``: the request that it answers, as JSON. ``limit``: how many calls the policy may
    keep. ``status``: the HTTP status. ``base_url``: the address of the response for a subject that fetches it with its
    own client; then ``pieces`` is empty. ``tools``: the tools of an agent. ``tools_url``: the address at which it
    can run them, with requests ``POST tools_url/NAME``. ``final``: the pieces of the response to each later request of
    an agent.
    """

    wire: Wire
    provider: str
    stream: bool
    pieces: list[bytes]
    policy: Policy = "all"
    limit: int | None = None
    request: Any = None
    status: int = 200
    base_url: str = ""
    tools: list[Tool] = []
    tools_url: str = ""
    final: list[bytes] = []

    @property
    def body(self) -> bytes:
        """All pieces concatenated."""
        return b"".join(self.pieces)


class CallResult(Struct, frozen=True):
    """The result of a call. ``content``: text."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


class FollowUp(Struct, frozen=True, kw_only=True):
    """The input for the subject's next request: the response that it read, and the results of its calls.

    ``to``: the wire of the request. ``provider``: its provider.
    """

    exchange: SubjectExchange
    results: list[CallResult]
    to: Wire
    provider: str


@runtime_checkable
class Subject(Protocol):
    """The interface of a subject.

    ``claims``: a subset of `CLAIMS`. ``wires``: the wires that it reads, or None for all. A subject with a member
    ``input`` that is "base_url" gets an address instead of bytes (`http_client_subject`).

    ``read(exchange)`` returns the canonical form or ``{"calls": […]}`` (`conformance.answer`). If it raises an
    exception, that is judged as an answer with an error. ``next_request(follow_up)`` returns a request body (JSON); it
    is needed only for the claim `answers`.
    """

    name: str
    version: str
    claims: frozenset[str]
    wires: frozenset[str] | None

    def read(self, exchange: SubjectExchange, /) -> Any: ...
