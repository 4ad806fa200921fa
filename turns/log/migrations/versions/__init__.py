"""The migrations. `migrate.LATEST` is the last one."""
