"""Wire `anthropic.messages`: Anthropic's Messages API, also as Bedrock and Vertex serve it."""

from .decode import decode
from .stream import Stream

__all__ = ["Stream", "decode"]
