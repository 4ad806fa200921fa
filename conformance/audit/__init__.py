"""The audit: what each policy does to recorded traffic."""
