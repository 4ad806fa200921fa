"""No module imports itself through others, also not inside functions or for types."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp


def test_no_module_imports_itself_through_others() -> None:
    graph = grimp.build_graph("toolparity", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 900
    TopologicalSorter(imports).prepare()  # raises CycleError, with the circle
