"""Policy `batch`: keep every runnable call; they run one after the other, and their results form one aggregate."""

from .all_calls import keep

__all__ = ["keep"]
