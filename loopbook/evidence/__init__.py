"""From tool calls and texts to events: pure functions from values to values."""
