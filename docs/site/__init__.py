"""The documentation site: ``python -m docs.site``. Its pages are copies of `docs/pages`, and a generated reference."""
