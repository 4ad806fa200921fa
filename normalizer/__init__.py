"""Toolparity's normalizer: whatever a provider sends, no tool call is lost, misread or run twice.

    from normalizer import normalize, StreamDecoder, select
    response = normalize(body, wire="anthropic.messages")
    selection = select(response, policy="all")

Raw traffic in, canonical form out; no I/O, and nothing but msgspec is imported.
"""

from .decoder import StreamDecoder, normalize
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
