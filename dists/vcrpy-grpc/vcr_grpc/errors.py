"""Errors of this package. Each states what happened, where, and what to do."""

from __future__ import annotations

from typing import Any

from vcr.errors import CannotOverwriteExistingCassetteException


class VcrGrpcError(Exception):
    """Base class. ``what``: the problem. ``where``: a call or a location in a cassette. ``hint``: what to do.

    ``where`` and ``hint`` may be "".
    """

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
    """The installed grpcio or vcrpy lacks a required part, so calls would bypass the cassette."""

    hint_default = "install versions that this package was tested with"


class UnserializableRequest(VcrGrpcError, TypeError):
    """The stub's serializer failed on the request, or did not return bytes."""


class UnreadableInteraction(VcrGrpcError, ValueError):
    """The recorded interaction is not a gRPC response, or is damaged."""

    hint_default = "record it again"


class Disagreement(UnreadableInteraction):
    """A message's readable form and its serialized bytes differ: one of them was edited."""

    hint_default = "record it again, or remove the readable 'message' to use the bytes"


class LeftEarly(VcrGrpcError):
    """A read beyond the end of a recorded stream that the client had left at that point."""

    hint_default = "record it again, reading the stream as far as now"


class CallNotRecorded(CannotOverwriteExistingCassetteException):  # type: ignore[misc]
    """The cassette has no response for this call, and its record mode allows no new ones. Nothing was sent.

    A subclass of vcrpy's own exception, so handlers of that catch it too; ``cassette``, ``failed_request``,
    ``similar_requests`` and ``reason`` have the same meaning. `mismatch.miss` builds the message.
    """

    def __init__(self, message: str, *, cassette: Any, failed_request: Any, similar: list[Any], reason: str) -> None:
        self.cassette = cassette
        self.failed_request = failed_request
        self.similar_requests = similar
        self.reason = reason
        Exception.__init__(self, message)
