"""Exports of LangSmith: runs of the type llm.

    {"id", "run_type": "llm", "inputs": {"messages": …}, "outputs": {…}, "extra": {"invocation_params": …}, …}

The inputs and outputs are those of the wrapped SDK, or LangChain's messages and generations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..entries import mapping, word
from ..model import Exchange
from . import conversion

#: The SDK merges the chunks of a stream into a body, and keeps the type of the chunks.
_CHUNK = "chat.completion.chunk"


def claims(item: dict[str, Any]) -> bool:
    """Return whether a JSON object has this format."""
    return isinstance(item.get("run_type"), str) and "inputs" in item and "outputs" in item


def exchanges(source: str, line: int | None, item: dict[str, Any]) -> Iterator[Exchange]:
    """Yield the exchange of a run of a model; other runs hold none."""
    inputs, outputs = item["inputs"], item["outputs"]
    if word(item["run_type"], "run_type") != "llm" or (inputs is None and not outputs):
        return
    inputs = mapping(inputs or {}, "inputs")
    if not outputs and item.get("error"):
        outputs = {"error": {"message": str(item["error"]), "type": "error"}}
    if outputs is None or outputs == {}:
        return
    outputs = mapping(outputs, "outputs")
    extra = item.get("extra")
    parameters = extra.get("invocation_params") if isinstance(extra, dict) else None
    parameters = parameters if isinstance(parameters, dict) else {}
    yield conversion.exchange(
        source,
        line,
        format="langsmith",
        request=inputs if "input" in inputs else inputs.get("messages"),
        response=_output(outputs),
        id=item.get("id"),
        model=inputs.get("model") or parameters.get("model") or parameters.get("model_name"),
        tools=inputs.get("tools") or parameters.get("tools"),
    )


def _output(outputs: dict[str, Any]) -> Any:
    """Return the message of LangChain's generations; any other output unchanged."""
    generations = outputs.get("generations")
    while isinstance(generations, list) and generations:
        generations = generations[0]
    if isinstance(generations, dict):
        return generations.get("message") or generations.get("text")
    output = outputs.get("output") if set(outputs) == {"output"} else None
    if output is not None:
        return output
    choices = outputs.get("choices")
    if outputs.get("object") == _CHUNK and isinstance(choices, list) and any("message" in choice for choice in choices):
        return {**outputs, "object": "chat.completion"}
    return outputs
