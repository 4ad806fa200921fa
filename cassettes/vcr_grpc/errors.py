"""What can go wrong between grpc and a cassette; each says what happened, where, and what to do."""

from __future__ import annotations

from typing import Any

from vcr.errors import CannotOverwriteExistingCassetteException


class VcrGrpcError(Exception):
    """The root. ``what`` happened, ``where`` (a call or a place in a cassette, or ""), ``hint`` (what to do, or "")."""

    hint_default = ""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint or self.hint_default
        super().__init__(what, where, self.hint)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text} ({self.hint})" if self.hint else text


class UnsupportedVersion(VcrGrpcError, ImportError):
    """The installed grpcio or vcrpy lacks a part that this package stands on: calls would slip past the cassette."""

    hint_default = "install versions that this package was tested with"


class UnsupportedCall(VcrGrpcError, NotImplementedError):
    """A call whose requests are a stream: neither recorded nor played, and never let through to the network."""

    hint_default = "make it outside the cassette, or exempt its host with ignore_hosts"


class UnserializableRequest(VcrGrpcError, TypeError):
    """The stub's serializer failed on the request, or gave something that is no bytes."""


class UnreadableInteraction(VcrGrpcError, ValueError):
    """The recorded interaction is no gRPC answer, or a damaged one."""

    hint_default = "record it again"


class Disagreement(UnreadableInteraction):
    """A message's readable form and its serialized bytes say different things: somebody edited one of them."""

    hint_default = "record it again, or remove the readable 'message' to go by the bytes"


class LeftEarly(VcrGrpcError):
    """A stream is read beyond the place where its recording ends because the caller had left it there."""

    hint_default = "record it again, reading the stream as far as now"


class CallNotRecorded(CannotOverwriteExistingCassetteException):  # type: ignore[misc]
    """The cassette has no answer for this call and its record mode takes no new ones. Nothing was sent.

    A subclass of vcrpy's own exception for this, so that what catches that one catches this; ``cassette``,
    ``failed_request``, ``similar_requests`` and ``reason`` are as there. The message is built by `miss`.
    """

    def __init__(self, message: str, *, cassette: Any, failed_request: Any, similar: list[Any], reason: str) -> None:
        self.cassette = cassette
        self.failed_request = failed_request
        self.similar_requests = similar
        self.reason = reason
        Exception.__init__(self, message)
