"""Wire `openai.responses`: OpenAI's Responses API, also as xAI and others serve it."""

from .decode import decode
from .stream import Stream

__all__ = ["Stream", "decode"]
