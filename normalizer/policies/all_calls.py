"""Policy `all`: keep every runnable call; they run concurrently and independently."""


def keep(runnable: int, limit: int | None) -> int:
    """Return how many of the runnable calls are kept."""
    return runnable if limit is None else min(runnable, limit)
