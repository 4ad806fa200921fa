"""Commands of the audit: `audit`, `normalize` and `proxy`."""
