"""The kill run of the generated known-bad subjects: which of them survive, and what the suite needs to fail the others.

There are four kinds, each with a bench: subjects that change answers, subjects that change requests, subjects that
change their input, and subjects with a mistake from a table. A subject that no law fails survives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Literal, NamedTuple

from msgspec.structs import replace

from toolparity.cassettes.workers import cores, in_order
from toolparity.reports import results

from ..cases.scenarios import scenarios
from ..known_bad.generated import equivalents, inputs, mutants
from ..known_bad.mistakes import ALLOWED, mistakes
from ..laws import LAWS
from .answer_bench import AnswerBench
from .bench import Death
from .input_bench import InputBench
from .judge import CaseFilter
from .kill_state import Deaths, KillState
from .mistake_bench import MistakeBench
from .request_bench import RequestBench, Target, targets

#: How many subjects that change answers or their input a worker takes at a time.
_CHUNK = 24


#: Subjects that may change nothing: the brief form lacks members, and not every operator suits a member of a request.
_PARTIAL = ("brief/", "replay/", "handoff/")


class Task(NamedTuple):
    """The work of a worker: the named subjects of the other kinds, or those that change the requests of a target.

    ``names``: restricts the subjects; None runs all of the target.
    """

    target: Target | None
    names: frozenset[str] | None

    @property
    def name(self) -> str:
        """A name that is the same in each run of the same subjects."""
        chosen = (
            "all" if self.names is None else hashlib.sha256("\n".join(sorted(self.names)).encode()).hexdigest()[:16]
        )
        if self.target is None:
            return chosen
        return f"{self.target.wire} {'own' if self.target.own else 'foreign'} {chosen}"


def tasks(names: Iterable[str] | None = None, *, tables: bool = False) -> list[Task]:
    """Return the tasks that run the named subjects, or all. The requests come first, because they take longest.

    ``tables``: whether all subjects include those of the tables of mistakes, of which most try many cases.
    """
    wanted = None if names is None else frozenset(names)
    named = (*(mistakes() if tables or wanted is not None else ()), *inputs(), *mutants())
    chosen = [name for name in named if wanted is None or name in wanted]
    # Neighbours in the list take equally long, so each chunk takes subjects from all over it.
    count = -(-len(chosen) // _CHUNK)
    others = wanted is None or len(wanted) > len(chosen)
    of_requests = [Task(target, wanted) for target in targets()] if others else []
    return [*of_requests, *(Task(None, frozenset(chosen[start::count])) for start in range(count))]


@cache
def _answers(case_filter: CaseFilter) -> AnswerBench:
    """Return the bench of a worker."""
    return AnswerBench(case_filter)


@cache
def _input(case_filter: CaseFilter) -> InputBench:
    return InputBench(case_filter)


@cache
def _mistaken(case_filter: CaseFilter) -> MistakeBench:
    return MistakeBench(case_filter)


def _kill(case_filter: CaseFilter, name: str) -> Death:
    if name in mistakes():
        return _mistaken(case_filter).kill(mistakes()[name])
    if name in inputs():
        return _input(case_filter).kill(inputs()[name])
    return _answers(case_filter).kill(mutants()[name])


def _run_task(case_filter: CaseFilter, task: Task) -> list[Death]:
    if task.target is None:
        return [_kill(case_filter, name) for name in sorted(task.names or ())]
    requests = RequestBench(case_filter, task.target)
    return [requests.kill(mutant) for mutant in requests.mutants() if task.names is None or mutant.name in task.names]


def run(
    case_filter: CaseFilter,
    names: Iterable[str] | None = None,
    *,
    jobs: int = 0,
    tables: bool = False,
    kept: KillState | None = None,
    on_progress: Callable[[int], None] = lambda tasks: None,
) -> results.GeneratedKills:
    """Run the generated subjects, all or the named ones; with ``tables`` also those of the tables of mistakes.

    ``kept``: takes the result of each task, and has those of an earlier run. ``on_progress`` is called with 1 for each
    finished one of `tasks`. Raises ToolparityError if a worker dies.
    """
    kept, jobs = kept or KillState(None, case_filter), jobs or cores()
    deaths: dict[str, list[Death]] = {}
    work: list[Task] = []
    for task in tasks(names, tables=tables):
        found = kept.get(Deaths, task.name)
        deaths[task.name] = [] if found is None else found.deaths
        if found is None:
            work.append(task)
        else:
            on_progress(1)
    run_task = partial(_run_task, case_filter)
    done = in_order(run_task, work, jobs, __name__) if jobs > 1 and len(work) > 1 else map(run_task, work)
    for task, part in zip(work, done, strict=True):
        deaths[task.name] = part
        kept.add(Deaths(task.name, part))
        on_progress(1)
    figures = _figures(case_filter, [death for part in deaths.values() for death in part])
    if names is None and case_filter == CaseFilter():  # every subject ran
        allowed = ALLOWED.keys() if tables else set()
        nowhere = (equivalents().keys() | allowed) - {*figures.equivalents, *figures.stale}
        figures = replace(figures, stale=[*figures.stale, *sorted(nowhere)])
    return figures


def _is_brief(death: Death) -> bool:
    return death.name.startswith("brief/")


def _figures(case_filter: CaseFilter, deaths: Sequence[Death]) -> results.GeneratedKills:
    changed = [death for death in deaths if death.changed]
    killed = [death for death in changed if death.case]
    alive = [death.name for death in changed if not death.case]
    unchanged = [death.name for death in deaths if not death.changed and not death.name.startswith(_PARTIAL)]
    known = equivalents() | ALLOWED
    return results.GeneratedKills(
        subjects=len(changed) + sum(name in known for name in unchanged),
        brief=(sum(map(_is_brief, killed)), sum(map(_is_brief, changed))),
        needs=list(_needs(case_filter, deaths)),
        equivalents={name: known[name] for name in (*alive, *unchanged) if name in known},
        stale=[death.name for death in killed if death.name in known],
        survivors=[name for name in alive if name not in known],
        gaps=[name for name in unchanged if name not in known],
    )


def _needs(case_filter: CaseFilter, deaths: Sequence[Death]) -> Iterator[results.Need]:
    """Yield, for each law, scenario and member, the subjects that need it in each form."""
    tried = {case.scenario for case in case_filter.cases()}
    forms: tuple[Literal["canonical", "brief"], ...] = ("canonical", "brief")
    for form in forms:
        of_form = [death for death in deaths if _is_brief(death) == (form == "brief")]
        killed = [death for death in of_form if death.changed and death.case]
        for law in LAWS:
            alone = [death.name for death in killed if death.law == law]
            failed = sum(law in (*death.laws, *death.again) for death in killed)
            yield results.Need("law", law, form, failed, alone)
        for scenario in sorted(tried):
            first = [death for death in killed if death.scenario == scenario]
            alone, guards = [death.name for death in first if not death.again], scenarios()[scenario].file.guards
            yield results.Need("scenario", scenario, form, len(first), alone, list(guards))
        changed = {(_kind(death), death.field) for death in of_form if death.changed}
        for kind, member in sorted(changed):
            deaths_of = sum((_kind(death), death.field) == (kind, member) for death in killed)
            yield results.Need(kind, member, form, deaths_of)


def _kind(death: Death) -> Literal["member", "request member"]:
    return "request member" if death.name.startswith(("replay/", "handoff/")) else "member"
