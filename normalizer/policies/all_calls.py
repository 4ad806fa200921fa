"""Policy `all`: every call that can run, concurrently, independent of each other."""


def keep(runnable: int, limit: int | None) -> int:
    """How many of the runnable calls are kept."""
    return runnable if limit is None else min(runnable, limit)
