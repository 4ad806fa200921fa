"""Wire `xai.grpc`: messages of xAI's `xai_api.Chat` service. It needs the protobuf classes of the `xai` extra."""

from .decode import decode
from .stream import Stream

__all__ = ["Stream", "decode"]
