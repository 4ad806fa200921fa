"""Audits of large input: in processes, in part files that are merged, and on Dask clusters."""
