"""Wire `openai.chat`: the Chat Completions API of OpenAI and of compatible providers."""

from .decode import decode
from .stream import Stream

__all__ = ["Stream", "decode"]
