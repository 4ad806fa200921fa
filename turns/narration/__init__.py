"""Text for the user beside the calls: acknowledgements, narration, streamed text."""
