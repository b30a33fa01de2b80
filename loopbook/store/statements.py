"""What PostgreSQL is asked: its statements as data, and their parameters.

Names in braces are put in when a store is opened: its tables, and the channel of its news.
"""

from __future__ import annotations

from collections.abc import Sequence

from loopbook.store.contract import Row
from loopbook.store.footing import Footing

EVENTS, SNAPSHOTS = "stored_events", "stored_snapshots"

SHAPE = (
    ' (originator_id text COLLATE "C" NOT NULL, originator_version bigint NOT NULL, topic text NOT NULL,'
    " state bytea NOT NULL, PRIMARY KEY (originator_id, originator_version))"
)
#: Rows as four arrays, which travel and are read faster than as many parameters.
_ROWS = "unnest(%s::text[], %s::bigint[], %s::text[], %b::bytea[]) AS r(id, version, topic, state)"
#: The ``sum`` that a row carries, as ``loopbook.sealing.sum_in`` has it.
_SUM = (
    "CASE WHEN encode(substring(t.state FROM octet_length(t.state) - 73 FOR 74), 'escape')"
    """ ~ '^,"sum":"[0-9a-f]{{64}}"}}$'"""
    " THEN substring(t.state FROM octet_length(t.state) - 65 FOR 64) ELSE '' END"
)
#: Whether all that a save needs is there: see ``stood_on``. A subquery of its own for each is never
#: made into a join that passes over the table.
_STANDS = (
    "(SELECT count((SELECT 1 FROM {events} t WHERE t.originator_id=s.id AND t.originator_version=s.version"
    f" AND {_SUM}=s.sum))"
    " FROM unnest(%s::text[], %s::bigint[], %b::bytea[]) AS s(id, version, sum)) = %s"
    " AND (SELECT count((SELECT 1 FROM {events} t WHERE t.originator_id=b.id"
    " AND (t.originator_version<b.first OR t.originator_version>b.last) LIMIT 1))"
    " FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS b(id, first, last)) = 0"
)
STATEMENTS = {
    # Whether it stood; an error, which undoes it, where it did and not every row was kept.
    "insert": "WITH said AS MATERIALIZED (SELECT pg_notify({channel}, '') WHERE"
    f" {_STANDS}), kept AS (INSERT INTO {{events}} (originator_id, originator_version, topic, state)"
    f" SELECT r.id, r.version, r.topic, r.state FROM said, {_ROWS} RETURNING 1)"
    " SELECT count(*) / (count(*) * %s = (SELECT count(*) FROM kept))::int FROM said",
    "stands": f"SELECT 1 WHERE {_STANDS}",
    "same": f"SELECT count(*) FROM {_ROWS} JOIN {{events}} t ON (t.originator_id, t.originator_version)"
    " = (r.id, r.version) AND (t.topic, t.state) = (r.topic, r.state)",
    "there": f"SELECT count(*) FROM {_ROWS} JOIN {{events}} t ON (t.originator_id, t.originator_version)"
    " = (r.id, r.version)",
    "update": f"UPDATE {{events}} t SET topic=r.topic, state=r.state FROM {_ROWS}"
    " WHERE (t.originator_id, t.originator_version) = (r.id, r.version)",
    "select": "SELECT originator_id, originator_version, topic, state FROM {events} WHERE originator_id=%s",
    "taken": "SELECT originator_id FROM {events} WHERE originator_version=1 AND originator_id=ANY(%s)",
    "streams": "WITH RECURSIVE found(name) AS ("
    "SELECT min(originator_id) FROM {events}"
    " WHERE originator_id>=%(prefix)s AND originator_id>%(after)s{until}"
    " UNION ALL SELECT (SELECT min(originator_id) FROM {events} WHERE originator_id>name{until})"
    " FROM found WHERE name IS NOT NULL"
    ") SELECT name FROM found WHERE name IS NOT NULL LIMIT %(limit)s",
    "sizes": "SELECT originator_id, count(*), sum(octet_length(state)) FROM {events}"
    " WHERE originator_id=ANY(%s) GROUP BY originator_id",
    "put": "INSERT INTO {snapshots} (originator_id, originator_version, topic, state)"
    f" SELECT %s,%s,%s,%b WHERE {_STANDS}",
    "useless": "DELETE FROM {snapshots} WHERE originator_id=%s AND originator_version=ANY(%s)",
    "snapshot": "SELECT originator_id, originator_version, topic, state FROM {snapshots}"
    " WHERE originator_id=%s AND originator_version<=%s ORDER BY originator_version DESC LIMIT 1",
    "copy": "COPY {events} (originator_id, originator_version, topic, state) FROM STDIN (FORMAT BINARY)",
    # Conflicts with every append, and with itself.
    "lock": "LOCK TABLE {events} IN SHARE ROW EXCLUSIVE MODE",
    # What an append takes: no row that it stands on is removed or replaced until it is committed.
    "share": "LOCK TABLE {events} IN ROW EXCLUSIVE MODE",
    "clear": "DELETE FROM {snapshots}",
    "foreign": "SELECT format('TRIGGER %%I ON %%s', tgname, tgrelid::regclass) AS name FROM pg_trigger"
    " WHERE NOT tgisinternal AND tgrelid IN (to_regclass(%(events)s), to_regclass(%(snapshots)s))"
    " UNION ALL SELECT format('RULE %%I ON %%s', rulename, ev_class::regclass) FROM pg_rewrite"
    " WHERE ev_class IN (to_regclass(%(events)s), to_regclass(%(snapshots)s)) ORDER BY name",
    "facts": "SELECT (SELECT count(*) FROM (SELECT DISTINCT originator_id FROM {events}) names),"
    " pg_total_relation_size(%(events)s)"
    " + coalesce(pg_total_relation_size(to_regclass(%(snapshots)s)), 0),"
    " current_setting('transaction_read_only')::bool, has_table_privilege(%(events)s, 'INSERT')",
}


def columns(rows: Sequence[Row]) -> list[list[object]]:
    """Rows as four arrays."""
    return [[row[place] for row in rows] for place in range(4)]


def stood_on(footing: Footing) -> list[object]:
    """What ``_STANDS`` asks about."""
    streams, versions, sums = zip(*footing.stands, strict=True) if footing.stands else ((), (), ())
    names, firsts, lasts = zip(*footing.begun, strict=True) if footing.begun else ((), (), ())
    stands = [*streams], [*versions], [digest.encode() for digest in sums], len(streams)
    return [*stands, [*names], [*firsts], [*lasts]]
