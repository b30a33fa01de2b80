"""What every kind of store refuses in the same words."""

from __future__ import annotations

from loopbook.errors import ForeignStore, StoreUnavailable


def closed(store: str) -> StoreUnavailable:
    """The refusal of whatever is asked of a store that was closed."""
    return StoreUnavailable(f"{store} is closed; nothing was read or written; open the store again")


def swallowed(store: str) -> ForeignStore:
    """The refusal of a save that somebody else's trigger, rule or constraint let happen in part or not."""
    return ForeignStore(
        f"{store}: something that no loopbook made changes or refuses what is saved; nothing was written;"
        " see: loopbook store check"
    )


def without_snapshots(store: str) -> StoreUnavailable:
    """The refusal of a snapshot by a store that has no table for it."""
    return StoreUnavailable(
        f"{store} is of an older schema, which has no snapshots; nothing was written;"
        " run: loopbook store upgrade"
    )
