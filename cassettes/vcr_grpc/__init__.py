"""grpc in vcrpy: calls are recorded into and played from ordinary cassettes.

    import vcr
    from toolparity.cassettes import vcr_grpc

    my_vcr = vcr.VCR(custom_patches=vcr_grpc.custom_patches())
    with my_vcr.use_cassette("talk.yaml"):
        …                                   # HTTP as ever, and grpc: synchronous, grpc.aio, one answer or a stream

Stubs and channels may be older than the cassette; interceptors run as they do without one, and what they add to the
metadata is what is recorded. Record modes, matchers, filters, hooks and play counts are vcrpy's own; its default
``match_on`` ignores bodies, so that any call of a method matches any other: name ``"body"`` there, too.

What is not recorded: a call that found no server, a single answer that the caller did not wait for (both as vcrpy does
for HTTP), what a channel does beside calls (connectivity). A status, also one that grpc itself gave (a deadline), is
recorded as it came. A stream that its caller left is recorded as far as it was read; reading on when it is played is
an error (`LeftEarly`). Calls with a stream of requests are refused inside a cassette (`UnsupportedCall`).

What a channel's call credentials add to the metadata is added below Python and is not seen. An exception of a hook
reaches the caller: as it is, or, where the answer came on grpc's own thread, as the status INTERNAL with its text.

The format is told in `interaction`; this package knows nothing of any service.
"""

from __future__ import annotations

from .errors import (
    CallNotRecorded,
    Disagreement,
    LeftEarly,
    UnreadableInteraction,
    UnserializableRequest,
    UnsupportedCall,
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
    "UnsupportedCall",
    "UnsupportedVersion",
]
