"""Advisors: who may speak, when, and on what. All of them are pure, and of one shape (``shape``)."""
