"""Policy `first`: keep only the first runnable call."""


def keep(runnable: int, limit: int | None) -> int:
    """Return how many of the runnable calls are kept."""
    return min(1, runnable) if limit is None else min(1, runnable, limit)
