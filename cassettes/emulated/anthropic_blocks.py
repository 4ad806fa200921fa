"""Content blocks of Anthropic's Messages API, built from the parts of a script.

Each block has three forms: the complete block, the block at the start of its stream, and the deltas. Source: recorded
responses and streams.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from toolparity.normalizer import json_codec

from ..scripts import Hit, Part, Refuse, Say, ScriptedCall, ServerCall, Think
from .script_player import Play

#: The alphabet of Anthropic's ids, without characters that look alike.
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class Block(NamedTuple):
    """The three forms of a block. ``cut``: the answer ends inside the block, so the stream does not stop it."""

    whole: dict[str, Any]
    start: dict[str, Any]
    deltas: list[dict[str, Any]]
    cut: bool = False


def blocks(play: Play, parts: list[Part]) -> Iterator[Block]:
    """Yield the blocks of ``parts``, the first parts of the answer in ``play``."""
    hits: list[Hit] = []
    for number, part in enumerate(parts):
        if isinstance(part, Think):
            if thinks(play):
                yield _thought(play, part, number)
        elif isinstance(part, ServerCall):
            hits = [*hits, *part.hits] if part.tool == "web_search" else hits
            yield from _SERVED[part.tool](play, part, number)
        elif isinstance(part, ScriptedCall):
            yield _call(play, part, number)
        elif isinstance(part, Say):
            yield _text(play, part, number, hits)
            hits = []
        else:
            yield _text(play, part, number, [])


def identity(play: Play, prefix: str, what: str) -> str:
    """Return an id in Anthropic's format. ``what``: identifies the object within the answer."""
    return f"{prefix}01{play.id(what, 22, alphabet=BASE58)}"


def thinks(play: Play) -> bool:
    """Return whether the request enables thinking."""
    return _thinking(play).get("type") in ("enabled", "adaptive")


def _thinking(play: Play) -> dict[str, Any]:
    asked = play.body.get("thinking")
    return asked if isinstance(asked, dict) else {}


def _thought(play: Play, part: Think, number: int) -> Block:
    if part.withheld:
        whole = {"type": "redacted_thinking", "data": _framed(play, f"withheld {number}", 480)}
        return Block(whole, whole, [])
    shown = "" if _thinking(play).get("display") == "omitted" else part.text
    signature = _framed(play, f"signature {number}", 280)
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in play.pieces(shown)]
    return Block(
        {"type": "thinking", "thinking": shown, "signature": signature},
        {"type": "thinking", "thinking": "", "signature": ""},
        [*deltas, {"type": "signature_delta", "signature": signature}],
    )


def _text(play: Play, part: Say | Refuse, number: int, hits: list[Hit]) -> Block:
    """``hits``: the hits of the searches before this text, which cites the first one."""
    deltas = [{"type": "text_delta", "text": piece} for piece in play.pieces(part.text)]
    if not hits:
        return Block({"type": "text", "text": part.text}, {"type": "text", "text": ""}, deltas)
    citation = {
        "type": "web_search_result_location",
        "cited_text": hits[0].text,
        "url": hits[0].url,
        "title": hits[0].title,
        "encrypted_index": _framed(play, f"index {number}", 143),
    }
    return Block(
        {"citations": [citation], "type": "text", "text": part.text},
        {"citations": [], "type": "text", "text": ""},
        [{"type": "citations_delta", "citation": citation}, *deltas],
    )


def _call(play: Play, part: ScriptedCall, number: int) -> Block:
    id = part.id if part.id is not None else identity(play, "toolu_", f"call {number}")
    cut = play.round.ending == "length" and part is play.parts[-1]
    whole = _use("tool_use", id, part.tool, _input(part.text)) | {"caller": {"type": "direct"}}
    return Block(whole, whole | {"input": {}}, _written(play, part.text), cut)


def _use(type: str, id: str, name: str, input: Any) -> dict[str, Any]:
    return {"type": type, "id": id, "name": name, "input": input}


def _input(text: str) -> Any:
    """Return the arguments as a JSON value. A plain body has no place for invalid text, so that becomes ``{}``."""
    try:
        return json_codec.decode(text) if text else {}
    except ValueError:
        return {}


def _written(play: Play, text: str) -> list[dict[str, Any]]:
    """Return the deltas of an input. The first one is always empty, and the only one for ``{}``."""
    pieces = ["", *(play.pieces(text) if text != "{}" else [])]
    return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def _asked(play: Play, id: str, name: str, input: dict[str, Any]) -> Block:
    whole = _use("server_tool_use", id, name, input)
    return Block(whole, whole | {"input": {}}, _written(play, json_codec.text(input)))


def _answered(type: str, id: str, content: Any) -> Block:
    whole = {"type": type, "tool_use_id": id, "content": content}
    return Block(whole, whole, [])


def _searched(play: Play, part: ServerCall, number: int) -> Iterator[Block]:
    id = identity(play, "srvtoolu_", f"server {number}")
    yield _asked(play, id, "web_search", part.arguments)
    content: Any = [
        {
            "type": "web_search_result",
            "title": hit.title,
            "url": hit.url,
            "encrypted_content": _framed(play, f"content {number}.{place}", 600),
            "page_age": None if place % 2 else "December 12, 2025",
        }
        for place, hit in enumerate(part.hits)
    ]
    if part.failed is not None:
        content = {"type": "web_search_tool_result_error", "error_code": part.failed}
    result = _answered("web_search_tool_result", id, content).whole | {"caller": {"type": "direct"}}
    yield Block(result, result, [])


def _executed(play: Play, part: ServerCall, number: int) -> Iterator[Block]:
    """Yield the blocks of a code execution. The tool's first version runs Python, later ones run a shell."""
    id = identity(play, "srvtoolu_", f"server {number}")
    code = str(part.arguments.get("code", ""))
    shell = all(tool.get("type") != "code_execution_20250522" for tool in play.body.get("tools") or [])
    name = "bash_code_execution" if shell else "code_execution"
    yield _asked(play, id, name, {"command": f"python3 - <<'EOF'\n{code}\nEOF"} if shell else {"code": code})
    content: dict[str, Any] = {
        "type": f"{name}_result",
        "stdout": part.output or "",
        "stderr": "",
        "return_code": 0,
        "content": [],
    }
    if part.failed is not None:
        content = {"type": f"{name}_tool_result_error", "error_code": part.failed}
    yield _answered(f"{name}_tool_result", id, content)


def _framed(play: Play, what: str, size: int) -> str:
    """Return ``size`` bytes inside a protobuf message in Base64, as Anthropic sends them."""
    return base64.b64encode(b"\x12" + _varint(size) + play.noise(what, size) + b"\x18\x01").decode()


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


#: Canonical server tool -> function that builds the blocks of its calls and results.
_SERVED: dict[str, Callable[[Play, ServerCall, int], Iterator[Block]]] = {
    "code_execution": _executed,
    "web_search": _searched,
}
