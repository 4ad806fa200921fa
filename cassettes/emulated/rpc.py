"""xAI's `Chat` service, answered from scripts."""

from __future__ import annotations

from collections.abc import Mapping

from xai_sdk.proto import chat_pb2_grpc

from ..scripts import Script
from .play import Held


class Chat(chat_pb2_grpc.ChatServicer):  # type: ignore[misc]
    """``library``: the scripts it plays; those that are shipped."""

    def __init__(self, library: Mapping[str, Script] | None = None) -> None:
        self._library = library
        self._held = Held()
