"""Output items of Responses and the events that stream them, as far as OpenAI and xAI share them.

One `OutputItem` yields both the complete item of a plain body and the events of a stream. The callers
(`openai_responses`, `xai_responses`) set the ids and the members, which differ between the providers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..scripts import Hit, Part, Refuse, Say, ServerCall
from .script_player import Play

Json = dict[str, Any]


class OutputItem(NamedTuple):
    """An output item. ``added``: the item as the stream announces it. ``done``: the complete item.

    ``steps``: the events in between, without ``item_id``, ``output_index`` and ``sequence_number``.
    """

    added: Json
    steps: list[Json]
    done: Json


class ItemParts(NamedTuple):
    """Parts of a script that form one item: consecutive texts and refusals are one message.

    ``place``: the index of the first part in the answer.
    """

    place: int
    parts: list[Part]


def runs(parts: list[Part]) -> list[ItemParts]:
    """Group the parts by item."""
    grouped: list[ItemParts] = []
    for place, part in enumerate(parts):
        spoken = isinstance(part, (Say, Refuse))
        if spoken and grouped and isinstance(grouped[-1].parts[-1], (Say, Refuse)):
            grouped[-1].parts.append(part)
        else:
            grouped.append(ItemParts(place, [part]))
    return grouped


def message(play: Play, item: Json, run: ItemParts, cites: list[Json]) -> OutputItem:
    """Return a message of texts and refusals. ``cites``: the annotations of its first text."""
    steps: list[Json] = []
    content: list[Json] = []
    for index, part in enumerate(run.parts):
        if isinstance(part, Say):
            notes = cites if index == 0 else []
            content.append(_text(part.text, notes))
            steps += ({**step, "content_index": index} for step in _told(play, part.text, notes))
        elif isinstance(part, Refuse):
            content.append({"type": "refusal", "refusal": part.text})
            steps += ({**step, "content_index": index} for step in _refused(play, part.text))
    return OutputItem({**item, "status": "in_progress", "content": []}, steps, {**item, "content": content})


def reasoning(play: Play, item: Json, summary: str) -> OutputItem:
    """Return a reasoning item. ``summary``: its visible text, may be empty."""
    if not summary:
        return OutputItem({**item, "summary": []}, [], {**item, "summary": []})
    part = {"type": "summary_text", "text": summary}
    steps: list[Json] = [
        {"type": "response.reasoning_summary_part.added", "summary_index": 0, "part": {**part, "text": ""}}
    ]
    for piece in play.pieces(summary):
        steps.append({"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": piece})
    steps.append({"type": "response.reasoning_summary_text.done", "summary_index": 0, "text": summary})
    steps.append({"type": "response.reasoning_summary_part.done", "summary_index": 0, "part": part})
    return OutputItem({**item, "summary": []}, steps, {**item, "summary": [part]})


def function_call(item: Json, pieces: list[str]) -> OutputItem:
    """Return a function call. ``item``: the complete item. ``pieces``: the fragments of its arguments."""
    return _written(item, "arguments", "response.function_call_arguments", pieces)


def custom_call(item: Json, pieces: list[str]) -> OutputItem:
    """Return a call of a tool with free text input. ``item``: the complete item. ``pieces``: fragments of the input."""
    return _written(item, "input", "response.custom_tool_call_input", pieces)


def web_search(item: Json) -> OutputItem:
    """Return a web search that the provider runs. ``item``: the complete item."""
    added = {name: item[name] for name in ("id", "type")}
    steps = [{"type": f"response.web_search_call.{step}"} for step in ("in_progress", "searching", "completed")]
    return OutputItem({**added, "status": "in_progress"}, steps, item)


def code_interpreter(item: Json, pieces: list[str]) -> OutputItem:
    """Return code that the provider runs. ``item``: the complete item. ``pieces``: the fragments of the code."""
    name = "response.code_interpreter_call"
    steps: list[Json] = [{"type": f"{name}.in_progress"}]
    steps += ({"type": f"{name}_code.delta", "delta": piece} for piece in pieces)
    steps.append({"type": f"{name}_code.done", "code": item["code"]})
    steps += ({"type": f"{name}.{step}"} for step in ("interpreting", "completed"))
    return OutputItem({**item, "status": "in_progress", "code": "", "outputs": item["outputs"] and []}, steps, item)


def hits_before(play: Play, place: int) -> list[Hit]:
    """Return the hits of the server calls before the part at ``place``, since the model's last text before it."""
    hits: list[Hit] = []
    for part in play.parts[:place]:
        if isinstance(part, ServerCall):
            hits += part.hits
        elif isinstance(part, (Say, Refuse)):
            hits = []
    return hits


def streamed(
    items: list[OutputItem], opening: Callable[[str], Json], closing: Callable[[], Iterator[Json]]
) -> Iterator[Json]:
    """Yield the numbered events of a response.

    ``opening``: returns the response object for the event "created" or "in_progress". ``closing``: yields the events
    after the items, without numbers.
    """
    for number, event in enumerate(_unnumbered(items, opening, closing)):
        yield {**event, "sequence_number": number}


def _unnumbered(
    items: list[OutputItem], opening: Callable[[str], Json], closing: Callable[[], Iterator[Json]]
) -> Iterator[Json]:
    for name in ("created", "in_progress"):
        yield {"type": f"response.{name}", "response": opening(name)}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "item": item.added, "output_index": index}
        for step in item.steps:
            yield {**step, "item_id": item.done["id"], "output_index": index}
        yield {"type": "response.output_item.done", "item": item.done, "output_index": index}
    yield from closing()


def _written(item: Json, member: str, name: str, pieces: list[str]) -> OutputItem:
    steps: list[Json] = [{"type": f"{name}.delta", "delta": piece} for piece in pieces]
    steps.append({"type": f"{name}.done", member: item[member]})
    return OutputItem({**item, "status": "in_progress", member: ""}, steps, item)


def _text(text: str, notes: list[Json]) -> Json:
    return {"type": "output_text", "annotations": notes, "logprobs": [], "text": text}


def _told(play: Play, text: str, notes: list[Json]) -> Iterator[Json]:
    yield {"type": "response.content_part.added", "part": _text("", [])}
    for piece in play.pieces(text):
        yield {"type": "response.output_text.delta", "delta": piece, "logprobs": []}
    for number, note in enumerate(notes):
        yield {"type": "response.output_text.annotation.added", "annotation": note, "annotation_index": number}
    yield {"type": "response.output_text.done", "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", "part": _text(text, notes)}


def _refused(play: Play, text: str) -> Iterator[Json]:
    yield {"type": "response.content_part.added", "part": {"type": "refusal", "refusal": ""}}
    for piece in play.pieces(text):
        yield {"type": "response.refusal.delta", "delta": piece}
    yield {"type": "response.refusal.done", "refusal": text}
    yield {"type": "response.content_part.done", "part": {"type": "refusal", "refusal": text}}
