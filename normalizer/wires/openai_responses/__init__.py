"""Wire `openai.responses`: the Responses API of OpenAI, xAI and other providers."""

from .decode import decode
from .stream import Stream

__all__ = ["Stream", "decode"]
