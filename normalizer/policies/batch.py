"""Policy `batch`: every call that can run, one after the other, results returned as one aggregate."""

from .all_calls import keep

__all__ = ["keep"]
