"""All private names of grpcio and vcrpy that this package depends on.

grpcio has no public hook below its interceptors. Interceptors cannot be added to an existing channel and do not see the
serialized bytes. So this package hooks in between grpcio's Python classes and its Cython core, where a multi-callable
asks a core channel for a core call. It supplies its own core call; everything above (calls, futures, iterators, errors,
interceptors) remains grpcio's code, in recording and in playing.

A missing name raises at import: vcrpy skips patches for attributes that do not exist, and an unpatched call would reach
the network unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .errors import UnsupportedVersion

try:
    import grpc as _grpc
    from grpc import _channel
    from grpc._cython import cygrpc as _cygrpc
    from grpc.aio import _call
    from vcr.cassette import Cassette as _Cassette

    cygrpc: Any = _cygrpc
    Cassette: Any = _Cassette
    StatusCode: Any = _grpc.StatusCode

    # The classes whose calls are recorded and played.
    UnaryUnary: Any = _channel._UnaryUnaryMultiCallable
    UnaryStream: Any = _channel._UnaryStreamMultiCallable
    SingleThreadedUnaryStream: Any = _channel._SingleThreadedUnaryStreamMultiCallable
    StreamUnary: Any = _channel._StreamUnaryMultiCallable
    StreamStream: Any = _channel._StreamStreamMultiCallable
    AioUnaryUnary: Any = _call.UnaryUnaryCall
    AioUnaryStream: Any = _call.UnaryStreamCall
    AioStreamUnary: Any = _call.StreamUnaryCall
    AioStreamStream: Any = _call.StreamStreamCall

    Metadatum: Any = _cygrpc._Metadatum
    Operation: Any = _cygrpc.OperationType
    ReceiveMessage: Any = _cygrpc.ReceiveMessageOperation
    SendMessage: Any = _cygrpc.SendMessageOperation
    SendClose: Any = _cygrpc.SendCloseFromClientOperation
    AioStatus: Any = _cygrpc.AioRpcStatus
    EOF: Any = _cygrpc.EOF
    UsageError: Any = _cygrpc.UsageError
    STATUS_BY_NUMBER: dict[int, Any] = {code.value[0]: code for code in StatusCode}
except (ImportError, AttributeError) as error:  # pragma: no cover - needs another grpcio
    raise UnsupportedVersion(f"this version of grpcio or vcrpy lacks a required part: {error}") from error

#: The debug string of played calls. grpc's own one contains peers and times and is not recorded.
PLAYED = "played from a cassette"
#: Seconds that a played call without an answer waits for the client to cancel it.
PATIENCE = 10.0


def metadatums(pairs: Iterable[tuple[str, str | bytes]]) -> tuple[Any, ...]:
    """Convert metadata pairs to the objects that grpc's core returns."""
    return tuple(Metadatum(name, value) for name, value in pairs)
