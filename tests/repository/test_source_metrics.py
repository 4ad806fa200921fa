"""The figures about the source count what they name."""

from __future__ import annotations

from pathlib import Path

from benchmarks import source_metrics


def test_a_small_tree_is_counted(tmp_path: Path) -> None:
    branches = "".join(f"    if wire == {number}:\n        pass\n" for number in range(30))
    text = f"class Row:\n    told = 1\n\n\ndef long(wire):\n{branches}    return wire in ('xai.grpc', 'openai.chat')\n"
    for package in ("normalizer", "reports"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "normalizer" / "a.py").write_text(text)
    (tmp_path / "reports" / "b.py").write_text("class Row:\n    '''What nobody wants.'''\n")
    assert {name: count for name, count in source_metrics.figures(tmp_path).items() if count} == {
        "lines of normalizer": 66,
        "lines of reports": 2,
        "lines": 68,
        "modules (without __init__.py)": 2,
        "modules under 60 lines": 1,
        "public class names used more than once": 1,
        "comparisons with a wire's name": 1,
        "avoided words in the product": 2,
        "functions over 60 lines": 1,
        "functions of complexity over 15": 1,
    }
