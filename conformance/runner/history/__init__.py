"""The history of a library: the suite on its released versions, and the release that changed the outcome of a law.

releases (`subjects.releases`) -> selection -> measurer: each version, or the outcome from the cache
-> search between two versions that differ -> `reports.versions.LibraryHistory`
"""
