"""Wire `anthropic.messages`: Anthropic's Messages API, including Claude on Bedrock and Vertex."""

from .decode import decode
from .stream import Stream

__all__ = ["Stream", "decode"]
