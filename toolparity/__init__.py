"""Public interface of Toolparity: tool calls of large language models in one canonical form.

    from toolparity import normalize, StreamDecoder, select

    response = normalize(body, wire="anthropic.messages")
    selection = select(response, policy="all")

This package exports the functions and types that decode responses, select calls and write requests. Subpackages hold
the rest: `toolparity.turns` runs tools, `toolparity.textmode` reads calls that a model writes into its text,
`toolparity.conversations` audits what an application did with the calls, `toolparity.bulk` audits large input in parts,
`toolparity.cassettes` records and replays traffic, `toolparity.conformance` is the conformance suite, and
`toolparity.reports` renders results.

Importing this package imports no provider SDK and opens no file or connection. Each name is loaded on first use.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .normalizer.answers import answer
    from .normalizer.conversation import Encoded, Request
    from .normalizer.decoder import StreamDecoder, normalize
    from .normalizer.errors import ToolparityError
    from .normalizer.findings import Finding
    from .normalizer.headers import ResponseHeaders
    from .normalizer.model import (
        ApprovalRequest,
        Block,
        Choice,
        Error,
        Opaque,
        Policy,
        Reasoning,
        Refusal,
        Response,
        ServerToolCall,
        ServerToolResult,
        Stop,
        Text,
        ToolCall,
        Usage,
        Wire,
    )
    from .normalizer.policies import Ref, Selection, select
    from .normalizer.requests import RequestWriter, check_request, read_request, write_request

#: The version of the package, such as "0.1.0".
__version__ = "0.1.0"

if not os.path.isdir(os.path.join(__path__[0], "normalizer")):  # a checkout in which Git wrote links as text files
    __path__.append(os.path.dirname(__path__[0]))

__all__ = [
    "ApprovalRequest",
    "Block",
    "Choice",
    "Encoded",
    "Error",
    "Finding",
    "Opaque",
    "Policy",
    "Reasoning",
    "Ref",
    "Refusal",
    "Request",
    "RequestWriter",
    "Response",
    "ResponseHeaders",
    "Selection",
    "ServerToolCall",
    "ServerToolResult",
    "Stop",
    "StreamDecoder",
    "Text",
    "ToolCall",
    "ToolparityError",
    "Usage",
    "Wire",
    "__version__",
    "answer",
    "check_request",
    "normalize",
    "read_request",
    "select",
    "write_request",
]

#: Exported name -> the module of `normalizer` that defines it. `model` defines every name that is not listed here.
_HOMES = {
    "answer": "answers",
    "Encoded": "conversation",
    "Request": "conversation",
    "StreamDecoder": "decoder",
    "normalize": "decoder",
    "ToolparityError": "errors",
    "Finding": "findings",
    "ResponseHeaders": "headers",
    "Ref": "policies",
    "Selection": "policies",
    "select": "policies",
    "RequestWriter": "requests",
    "check_request": "requests",
    "read_request": "requests",
    "write_request": "requests",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".normalizer.{_HOMES.get(name, 'model')}", __name__)
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
