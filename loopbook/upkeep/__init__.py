"""Keeping a store sound: checked, copied, cleaned. The only code that rewrites what was stored."""
