"""Policy `first`: the first call that can run, and no other."""


def keep(runnable: int, limit: int | None) -> int:
    """How many of the runnable calls are kept."""
    return min(1, runnable) if limit is None else min(1, runnable, limit)
