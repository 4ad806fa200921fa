"""A small reader of Chat Completions. Replace it by your library, which then reads the responses."""

import json


def read(body: bytes, stream: bool) -> dict:
    """Return the calls of a response, and whether it is complete."""
    calls: dict[tuple[int, int], dict] = {}
    complete = False
    for payload in payloads(body) if stream else [body]:
        message = json.loads(payload)
        if message.get("error"):
            return {"error": str(message["error"])}
        for choice in message.get("choices") or []:
            complete = complete or bool(choice.get("finish_reason"))
            part = choice.get("delta") or choice.get("message") or {}
            for place, piece in enumerate(part.get("tool_calls") or []):
                key = (choice.get("index", 0), piece.get("index", place))
                call = calls.setdefault(key, {"id": None, "name": "", "arguments": ""})
                function = piece.get("function") or {}
                call["id"] = call["id"] or piece.get("id")
                call["name"] = call["name"] or function.get("name") or ""
                call["arguments"] += function.get("arguments") or ""
    return {"calls": list(calls.values()), "complete": complete}


def payloads(body: bytes):
    """Yield the JSON texts of server-sent events."""
    data: list[bytes] = []
    for line in [*body.splitlines(), b""]:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            payload = b"\n".join(data)
            data = []
            if payload != b"[DONE]":
                yield payload
