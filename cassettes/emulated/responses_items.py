"""Output items of Responses, and the events that stream them: what OpenAI and xAI have in common.

An item is told twice, whole in a plain body and step by step in a stream; both come from one `Item`. How it is called,
and which members it has, is the dialect's business (`openai_responses`, `xai_responses`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..scripts import Hit, Part, Refuse, Say, ServerCall
from .script_player import Play

Json = dict[str, Any]


class Item(NamedTuple):
    """``added``: the item as a stream announces it; ``steps``: the events in between; ``done``: as it is at the end.

    Steps lack the members that place them (``item_id``, ``output_index``, ``sequence_number``).
    """

    added: Json
    steps: list[Json]
    done: Json


class Run(NamedTuple):
    """Parts of a script that make one item: words and refusals that follow each other are one message."""

    place: int
    parts: list[Part]


def runs(parts: list[Part]) -> list[Run]:
    """The parts, item by item. ``place``: how many parts come before."""
    found: list[Run] = []
    for place, part in enumerate(parts):
        spoken = isinstance(part, (Say, Refuse))
        if spoken and found and isinstance(found[-1].parts[-1], (Say, Refuse)):
            found[-1].parts.append(part)
        else:
            found.append(Run(place, [part]))
    return found


def message(play: Play, item: Json, run: Run, cites: list[Json]) -> Item:
    """A message of texts and refusals. ``cites``: the annotations of its first text."""
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
    return Item({**item, "status": "in_progress", "content": []}, steps, {**item, "content": content})


def reasoning(play: Play, item: Json, summary: str) -> Item:
    """A thought. ``summary``: what is shown of it."""
    if not summary:
        return Item({**item, "summary": []}, [], {**item, "summary": []})
    part = {"type": "summary_text", "text": summary}
    steps: list[Json] = [
        {"type": "response.reasoning_summary_part.added", "summary_index": 0, "part": {**part, "text": ""}}
    ]
    for piece in play.pieces(summary):
        steps.append({"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": piece})
    steps.append({"type": "response.reasoning_summary_text.done", "summary_index": 0, "text": summary})
    steps.append({"type": "response.reasoning_summary_part.done", "summary_index": 0, "part": part})
    return Item({**item, "summary": []}, steps, {**item, "summary": [part]})


def function_call(item: Json, pieces: list[str]) -> Item:
    """A call of a function; ``item`` holds its arguments whole."""
    return _written(item, "arguments", "response.function_call_arguments", pieces)


def custom_call(item: Json, pieces: list[str]) -> Item:
    """A call of a tool that takes free text; ``item`` holds its input whole."""
    return _written(item, "input", "response.custom_tool_call_input", pieces)


def web_search(item: Json) -> Item:
    """A search that the provider runs; ``item`` holds its action."""
    added = {name: item[name] for name in ("id", "type")}
    steps = [{"type": f"response.web_search_call.{step}"} for step in ("in_progress", "searching", "completed")]
    return Item({**added, "status": "in_progress"}, steps, item)


def code_interpreter(item: Json, pieces: list[str]) -> Item:
    """Code that the provider runs; ``item`` holds it with its outputs."""
    name = "response.code_interpreter_call"
    steps: list[Json] = [{"type": f"{name}.in_progress"}]
    steps += ({"type": f"{name}_code.delta", "delta": piece} for piece in pieces)
    steps.append({"type": f"{name}_code.done", "code": item["code"]})
    steps += ({"type": f"{name}.{step}"} for step in ("interpreting", "completed"))
    return Item({**item, "status": "in_progress", "code": "", "outputs": item["outputs"] and []}, steps, item)


def hits_before(play: Play, place: int) -> list[Hit]:
    """What the searches before a place found, as far back as the model last spoke."""
    found: list[Hit] = []
    for part in play.parts[:place]:
        if isinstance(part, ServerCall):
            found += part.hits
        elif isinstance(part, (Say, Refuse)):
            found = []
    return found


def streamed(
    items: list[Item], opening: Callable[[str], Json], closing: Callable[[], Iterator[Json]]
) -> Iterator[Json]:
    """The events of a response, numbered. ``opening``: the response as it begins, for "created" and "in_progress".

    ``closing``: the events at the end, not yet numbered.
    """
    for number, event in enumerate(_unnumbered(items, opening, closing)):
        yield {**event, "sequence_number": number}


def _unnumbered(
    items: list[Item], opening: Callable[[str], Json], closing: Callable[[], Iterator[Json]]
) -> Iterator[Json]:
    for name in ("created", "in_progress"):
        yield {"type": f"response.{name}", "response": opening(name)}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "item": item.added, "output_index": index}
        for step in item.steps:
            yield {**step, "item_id": item.done["id"], "output_index": index}
        yield {"type": "response.output_item.done", "item": item.done, "output_index": index}
    yield from closing()


def _written(item: Json, member: str, name: str, pieces: list[str]) -> Item:
    steps: list[Json] = [{"type": f"{name}.delta", "delta": piece} for piece in pieces]
    steps.append({"type": f"{name}.done", member: item[member]})
    return Item({**item, "status": "in_progress", member: ""}, steps, item)


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
