"""Wire `openai.chat`: Chat Completions of OpenAI and of everybody who speaks it."""

from .decode import decode
from .stream import Stream

__all__ = ["Stream", "decode"]
