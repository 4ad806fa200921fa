"""Toolparity's normalizer: whatever a provider sends, no tool call is lost, misread or run twice.

    from normalizer import normalize, StreamDecoder, select
    response = normalize(body, wire="anthropic.messages")
    selection = select(response, policy="all")

Raw traffic in, canonical form out; no I/O, and nothing but msgspec is imported.
"""

from typing import TYPE_CHECKING, Any

from .errors import ToolparityError
from .findings import Finding
from .model import (
    ApprovalRequest,
    Block,
    Choice,
    Error,
    Opaque,
    Reasoning,
    Refusal,
    Response,
    ServerToolCall,
    ServerToolResult,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from .policies import Ref, Selection, select

if TYPE_CHECKING:
    from .decoder import StreamDecoder, normalize

__version__ = "0.1.0"

__all__ = [
    "ApprovalRequest",
    "Block",
    "Choice",
    "Error",
    "Finding",
    "Opaque",
    "Reasoning",
    "Ref",
    "Refusal",
    "Response",
    "Selection",
    "ServerToolCall",
    "ServerToolResult",
    "Stop",
    "StreamDecoder",
    "Text",
    "ToolCall",
    "ToolparityError",
    "Usage",
    "normalize",
    "select",
]


def __getattr__(name: str) -> Any:
    """Load the decoders when one is first asked for: readers and wires are no use to who only handles responses."""
    if name in ("StreamDecoder", "normalize"):
        from . import decoder

        return globals().setdefault(name, getattr(decoder, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
