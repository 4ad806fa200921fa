"""Reproductions: short scripts that repeat failures of a run with nothing but the library.

failure of a law -> CaseResponse: the response, in a file
                 -> Topic: what the failure is about, by the table of the laws (`topics`)
                 -> Script: at most 20 lines, from the code of the library (`libraries`) and a server (`servers`)
                 -> Marked: the text of the response with the calls that the failure is about
Script -> Output: what it prints, which must be what the results state (`confirms`)
"""

from __future__ import annotations

from toolparity.reports.reproduction import Reproduction
from toolparity.reports.results import Run

from .accusations import Accusation, accusations, shortest
from .marks import marked


def reproductions(run: Run) -> list[Reproduction]:
    """Return the reproduction of the shortest case of each law that an implementation breaks."""
    return list(map(reproduction, shortest(accusations(run))))


def reproduction(accusation: Accusation) -> Reproduction:
    """Return the reproduction of a failure."""
    result, verdict, response, script = accusation.result, accusation.verdict, accusation.response, accusation.script
    parts, kind = marked(result, verdict, response)
    case = (result.subject, result.scenario, result.surface, result.mode, result.policy)
    return Reproduction(
        *case,
        law=verdict.check,
        install=script.install,
        name=script.name,
        script=script.text,
        file=response.file,
        body=response.data,
        parts=parts,
        kind=kind,
    )


__all__ = ["Accusation", "accusations", "reproduction", "reproductions", "shortest"]
