"""Results of a run, and the reports that are rendered from them. Independent of providers."""
