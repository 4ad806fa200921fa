"""Commands about cassettes, and what the commands of all packages share: options, errors and exit codes, progress."""
