"""Audit: what a recorded session did, and what it claimed, held against what was recorded. Read-only."""
