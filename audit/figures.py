"""Figures of one wire, model or policy, which can be added up."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct, field

from toolparity.normalizer.findings import Finding
from toolparity.normalizer.model import ApprovalRequest, Choice, Opaque, Policy, Response, ServerToolCall, ToolCall
from toolparity.normalizer.policies import POLICIES, Selection, selection_of
from toolparity.reports.results import brief

#: The names of models come from the input. Above this many, the longest ones are counted together.
_MODELS_KEPT = 100
OTHERS = "others"
NOT_STATED = "not stated"
#: The maximum length of a model's name, in characters.
_NAME = 100


class PolicyFigures(Struct):
    """What one policy would do with the client calls. ``responses``: how many responses would lose a call."""

    kept: int = 0
    dropped: int = 0
    rejected: int = 0
    responses: int = 0

    def add(self, selection: Selection) -> None:
        """Count the selection of one response."""
        self.kept += len(selection.kept)
        self.dropped += len(selection.dropped)
        self.rejected += len(selection.rejected)
        self.responses += bool(selection.dropped)

    def merge(self, other: PolicyFigures) -> None:
        self.kept += other.kept
        self.dropped += other.dropped
        self.rejected += other.rejected
        self.responses += other.responses


def _policies() -> dict[Policy, PolicyFigures]:
    return {name: PolicyFigures() for name in POLICIES}


class ModelFigures(Struct):
    """The figures of one model: its exchanges, its client calls, and what each policy would do with them."""

    exchanges: int = 0
    calls: int = 0
    parallel: int = 0
    policies: dict[Policy, PolicyFigures] = field(default_factory=_policies)

    def merge(self, other: ModelFigures) -> None:
        self.exchanges += other.exchanges
        self.calls += other.calls
        self.parallel += other.parallel
        for policy, figures in other.policies.items():
            self.policies[policy].merge(figures)


class WireFigures(Struct):
    """The figures of one wire.

    ``undecoded``: bodies that are not valid on the wire. ``errors``: error responses. ``parallel``: responses with more
    than one client call. ``truncated`` and ``invalid``: calls rejected for their arguments. ``unfinished``: calls
    rejected because the response was incomplete, refused or failed. ``incomplete``: responses without a terminal event.
    ``findings``: the number of findings by code. ``severities``: their number by severity. ``models``: the decoded
    responses by the model that produced them; above `_MODELS_KEPT` models, the longest names are counted as "others".
    """

    exchanges: int = 0
    streamed: int = 0
    undecoded: int = 0
    errors: int = 0
    calls: int = 0
    parallel: int = 0
    most_calls: int = 0
    server_calls: int = 0
    approvals: int = 0
    opaque: int = 0
    incomplete: int = 0
    truncated: int = 0
    invalid: int = 0
    unfinished: int = 0
    policies: dict[Policy, PolicyFigures] = field(default_factory=_policies)
    findings: dict[str, int] = {}
    severities: dict[str, int] = {}
    models: dict[str, ModelFigures] = {}

    def merge(self, other: WireFigures) -> None:
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.most_calls = max(self.most_calls, other.most_calls)
        for policy, figures in other.policies.items():
            self.policies[policy].merge(figures)
        for mine, others in ((self.findings, other.findings), (self.severities, other.severities)):
            for code, count in others.items():
                mine[code] = mine.get(code, 0) + count
        for name, model in other.models.items():
            self.model(name).merge(model)

    def model(self, name: str) -> ModelFigures:
        """Return the figures of a model, or those of "others" if the model is one of too many."""
        figures = self.models.get(name)
        if figures is None:
            figures = self.models[name] = ModelFigures()
            left = too_many(self.models, _MODELS_KEPT)
            if left is not None:
                self.models.setdefault(OTHERS, ModelFigures()).merge(self.models.pop(left))
                return self.models.get(name, self.models[OTHERS])
        return figures


def too_many(names: Collection[str], most: int) -> str | None:
    """Return the name to count as "others", or None while there are at most ``most`` names.

    It is the longest name; of equally long names it is the last one in alphabetical order. The kept names are therefore
    the same whatever the order of merging. Short names belong to the providers' models, the longest to fine-tuned
    models, of which an account can have many.
    """
    if len(names) - (OTHERS in names) <= most:
        return None
    return max((name for name in names if name != OTHERS), key=lambda name: (len(name), name))


_SUMS = tuple(
    n for n in WireFigures.__struct_fields__ if n not in ("most_calls", "policies", "findings", "severities", "models")
)


def count_response(figures: WireFigures, response: Response, policy: Policy, limit: int | None) -> tuple[Finding, ...]:
    """Count one response. Return the findings of the selection under ``policy``."""
    calls = sum(_blocks(figures, choice) for choice in response.choices)
    model = figures.model(brief(response.model or NOT_STATED, _NAME))
    model.exchanges += 1
    figures.errors += response.error is not None
    figures.incomplete += not response.complete
    if not calls:
        return ()
    figures.calls += calls
    figures.parallel += calls > 1
    model.calls += calls
    model.parallel += calls > 1
    figures.most_calls = max(figures.most_calls, calls)
    selection_findings: tuple[Finding, ...] = ()
    selection: Selection | None = None
    for name, sums in figures.policies.items():
        selection = selection_of(response, name, limit)
        sums.add(selection)
        model.policies[name].add(selection)
        if name == policy:
            selection_findings = selection.findings
    if selection is not None and selection.rejected:
        _why_rejected(figures, response, selection)
    return selection_findings


def _blocks(figures: WireFigures, choice: Choice) -> int:
    calls = 0
    for block in choice.blocks:
        kind = type(block)
        if kind is ToolCall:
            calls += 1
        elif kind is ServerToolCall:
            figures.server_calls += 1
        elif kind is ApprovalRequest:
            figures.approvals += 1
        elif isinstance(block, Opaque):
            figures.opaque += not block.wire_type.endswith("audio")  # sound of a session has a known type
    return calls


def _why_rejected(figures: WireFigures, response: Response, selection: Selection) -> None:
    """Count the rejected calls by reason.

    Every policy rejects the same calls. An unusable response is the reason of all its rejected calls.
    """
    unusable = not response.complete or response.error is not None
    statuses = {
        (choice.index, index): block.status for choice, index, block in response.walk() if type(block) is ToolCall
    }
    for ref in selection.rejected:
        status = statuses[ref.choice, ref.block]
        if unusable or status == "complete":
            figures.unfinished += 1
        elif status == "truncated":
            figures.truncated += 1
        else:
            figures.invalid += 1
