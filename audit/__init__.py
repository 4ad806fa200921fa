"""The audit: what an application and each policy do with recorded or proxied traffic."""
