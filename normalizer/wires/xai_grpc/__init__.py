"""Wire `xai.grpc`: the messages of xAI's `xai_api.Chat` service, read with the protobuf classes of the `xai` extra."""

from .decode import decode
from .stream import Stream

__all__ = ["Stream", "decode"]
