"""Maintenance of the cassettes of any project, in any format that `interchange` knows: scan, scrub, check."""
