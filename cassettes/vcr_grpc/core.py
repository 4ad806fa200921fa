"""Every private name of grpcio and vcrpy that this package stands on, in one place.

grpcio has no public seam below its interceptors, and interceptors can neither be added to a channel that exists nor
see the serialized bytes. So the seam is the one between grpcio's Python classes and its Cython core: a multi-callable
asks a core channel for a core call. A cassette gives it a core call of its own; everything above (calls, futures,
iterators, errors, interceptors) stays grpcio's own code, in recording and in playing.

A name that is missing is said at import: vcrpy skips patches for attributes that do not exist, and a call that is not
patched would go to the network unseen.
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

    # The classes whose calls are recorded and played, and those that are refused.
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
    AioStatus: Any = _cygrpc.AioRpcStatus
    EOF: Any = _cygrpc.EOF
    UsageError: Any = _cygrpc.UsageError
    STATUS_BY_NUMBER: dict[int, Any] = {code.value[0]: code for code in StatusCode}
except (ImportError, AttributeError) as error:  # pragma: no cover - needs another grpcio
    raise UnsupportedVersion(f"a part of grpcio or vcrpy is not where it was: {error}") from error

#: What a played call gives as grpc's debug string, which tells of peers and times and is not recorded.
PLAYED = "played from a cassette"


def metadatums(pairs: Iterable[tuple[str, str | bytes]]) -> tuple[Any, ...]:
    """Metadata as grpc's core gives it."""
    return tuple(Metadatum(name, value) for name, value in pairs)
