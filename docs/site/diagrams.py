"""Diagrams of the pages without a script: GitHub draws Mermaid, but its program would come from another site."""

from __future__ import annotations

import json
import re
import textwrap
from html import escape

_BLOCK = re.compile(r"^```mermaid\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_WIDTH, _HEIGHT, _ROW, _LABELS, _STEP = 640, 240, 24, 160, 92


def drawn(page: str) -> str:
    """Return a page with its Mermaid blocks as pictures. State diagrams are left out: the page has their picture."""
    return _BLOCK.sub(lambda block: _KINDS[re.split(r"[\s-]", block[1], maxsplit=1)[0]](block[1]), page)


def _flowchart(text: str) -> str:
    """Draw nodes in rows: each below those with an edge to it."""
    nodes = dict(re.findall(r'(\w+)\["(.*?)"\]', text))
    plain = re.sub(r'\[".*?"\]', "", text)
    found = re.findall(r'(\w+) (?:-->(?:\|(.*)\|)?|-\. "(.*)" \.->) *(\w+)', plain)
    edges = [(source, target, first or second) for source, first, second, target in found]
    depth = dict.fromkeys(nodes, 0)
    for source, target, _ in edges * len(nodes):
        depth[target] = max(depth[target], depth[source] + 1)
    steps = []
    for source, target, note in edges:
        last, text = source, note
        for row in range(depth[source] + 1, depth[target]):  # an edge passes a row beside its boxes
            passed = f"{source} {target} {row}"
            nodes[passed], depth[passed] = "", row
            steps.append((last, passed, text))
            last, text = passed, ""
        steps.append((last, target, text))
    boxes, parts = {}, []
    for row in range(max(depth.values()) + 1):
        names = [name for name in nodes if depth[name] == row]
        width = _WIDTH / len(names) - 20
        for column, name in enumerate(names):
            x, y = (width + 20) * column + width / 2 + 10, row * _STEP + 30
            boxes[name] = (x, y)
            lines = textwrap.wrap(nodes[name], int(width / 7.5), break_on_hyphens=False) or [""]
            box = f"M{x - width / 2:.0f} {y - 28}h{width:.0f}v56h-{width:.0f}z"
            parts.append(f'<path d="{box if nodes[name] else f"M{x:.0f} {y - 28}v56"}"/>')
            parts += (_text(x, y + 5 + 18 * (i - (len(lines) - 1) / 2), "middle", line) for i, line in enumerate(lines))
    for source, target, note in steps:
        (x, y), (to, below) = boxes[source], boxes[target]
        parts.append(f'<path d="M{x:.0f} {y + 28}L{to:.0f} {below - 28}{"m-5 -8l5 8l5 -8" if nodes[target] else ""}"/>')
        parts.append(_text((x + to) / 2 + 6, (y + below) / 2 + 5, "start", note) if note else "")
    label = escape("; ".join(f"{source} to {target}" for source, target, _ in edges))
    height = (max(depth.values()) + 1) * _STEP - 20
    return f'<figure class="chart"><svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{label}">' + (
        "".join(parts) + "</svg></figure>\n"
    )


def _chart(text: str) -> str:
    ((title, kind, values),) = re.findall(r'title "([^"]*)".*^ *(bar|line) (\[.*\])', text, re.MULTILINE | re.DOTALL)
    numbers = json.loads(values)
    inner, height = _bars(text, numbers) if kind == "bar" else _line(text, numbers)
    picture = f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">{inner}</svg>'
    return f'<figure class="chart">{picture}<figcaption>{escape(title)}</figcaption></figure>\n'


def _text(x: float, y: float, anchor: str, text: object) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(str(text))}</text>'


def _bars(text: str, numbers: list[float]) -> tuple[str, int]:
    labels = json.loads(re.findall(r"x-axis (\[.*\])", text)[0])
    scale = (_WIDTH - _LABELS - 60) / max(numbers)
    parts = []
    for row, (label, number) in enumerate(zip(labels, numbers, strict=True)):
        y = row * _ROW
        parts.append(f'<rect x="{_LABELS}" y="{y + 4}" width="{number * scale:.1f}" height="{_ROW - 8}"/>')
        parts.append(
            _text(_LABELS - 8, y + 17, "end", label) + _text(_LABELS + number * scale + 6, y + 17, "start", number)
        )
    return "".join(parts), len(numbers) * _ROW


def _line(text: str, numbers: list[float]) -> tuple[str, int]:
    (x_name, start, end), (y_name, low, high) = re.findall(r'[xy]-axis "(\w+)" (\d+) --> (\d+)', text)
    left, right, bottom = 60, _WIDTH - 10, _HEIGHT - 24
    points = (
        f"{left + (right - left) * index / (len(numbers) - 1):.1f},{bottom - (bottom - 16) * number / float(high):.1f}"
        for index, number in enumerate(numbers)
    )
    axes = f'<path d="M{left} 8V{bottom}H{right}"/><polyline points="{" ".join(points)}"/>'
    ticks = [
        (left - 6, 20, "end", f"{high} {y_name}"),
        (left - 6, bottom, "end", low),
        (left, bottom + 18, "middle", start),
    ]
    return axes + "".join(_text(*tick) for tick in (*ticks, (right, bottom + 18, "end", f"{end} {x_name}"))), _HEIGHT


_KINDS = {"flowchart": _flowchart, "stateDiagram": lambda text: "", "xychart": _chart}
