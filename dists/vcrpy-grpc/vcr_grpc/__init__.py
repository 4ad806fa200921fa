"""gRPC support for vcrpy: records calls into ordinary cassettes and plays them back.

    import vcr
    from toolparity.cassettes import vcr_grpc    # or, with the distribution vcrpy-grpc: import vcr_grpc

    my_vcr = vcr.VCR(custom_patches=vcr_grpc.custom_patches())
    with my_vcr.use_cassette("talk.yaml"):
        …                            # HTTP as usual, plus gRPC: synchronous and grpc.aio, all four kinds of calls

Stubs and channels may exist before the cassette is opened. Interceptors run as usual, and the metadata they add is
recorded. Record modes, matchers, filters, hooks and play counts are vcrpy's own. Its default ``match_on`` ignores
bodies, so any call of a method matches any other: add ``"body"`` to it.

A call with a stream of requests is played in the order of its recording: each message that the client sends narrows
down the recorded calls, and a response is delivered once everything was sent that preceded it (`request_streams`).

Not recorded: a call that reached no server, a unary call that the client dropped without waiting for it (both as vcrpy
does for HTTP), and channel state such as connectivity. A status is recorded as it arrives, also one that grpc itself
produced (a deadline). A call that the client cancelled, or a stream that it left, is recorded as far as it was read;
reading further during replay raises `LeftEarly`, and waiting for the answer of a cancelled call does so after ten
seconds.

Metadata that call credentials add is added below Python and cannot be recorded. An exception from a hook reaches the
client unchanged, or, on one of grpc's own threads, as status INTERNAL with its text. It never ends such a thread. If
the status was delivered already, or if the client cancels the call, the exception is raised when the cassette closes.

`interaction` documents the format. This package does not depend on any particular service.
"""

from __future__ import annotations

from .errors import (
    CallNotRecorded,
    Disagreement,
    LeftEarly,
    UnreadableInteraction,
    UnserializableRequest,
    UnsupportedVersion,
    VcrGrpcError,
)
from .patching import custom_patches

__all__ = [
    "custom_patches",
    "VcrGrpcError",
    "CallNotRecorded",
    "Disagreement",
    "LeftEarly",
    "UnreadableInteraction",
    "UnserializableRequest",
    "UnsupportedVersion",
]
