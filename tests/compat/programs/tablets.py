"""Tablets by hand: what their constructor takes, and what the map of them gives back."""

# mypy: ignore-errors
# ruff: noqa
import uuid

from cassandra import metadata
from cassandra.tablets import Tablet, Tablets

A, B, C = (uuid.UUID(int=number) for number in (1, 2, 3))


def show(name, function):
    try:
        value = function()
    except Exception as error:
        value = type(error).__name__
    print(name, value)


def told(tablet):
    return (
        None
        if tablet is None
        else (
            tablet.first_token,
            tablet.last_token,
            list(tablet.replicas),
            getattr(tablet, "version", getattr(tablet, "tablet_version", "-")),
        )
    )


ONE = Tablet(-100, 100, [(A, 1), (B, 2)])
show("one", lambda: told(ONE))
show("nothing", lambda: told(Tablet()))
show("none", lambda: Tablet(0, 1, None).replicas)
show("hosts", lambda: (ONE.replica_contains_host_id(A), ONE.replica_contains_host_id(C)))
show("from_row", lambda: told(Tablet.from_row(1, 2, [(A, 1)])))
show("from_row none", lambda: Tablet.from_row(1, 2, None))
show("from_row empty", lambda: Tablet.from_row(1, 2, []))
for version in (None, 0, 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1, -1):
    for name in ("version", "tablet_version"):
        show(f"{name} {version}", lambda: told(Tablet(1, 2, [(A, 1)], **{name: version})))
show("positional version", lambda: told(Tablet(1, 2, [(A, 1)], 2**64 - 1)))

given = Tablet(-100, 100, [(A, 1), (B, 2)])
tablets = Tablets({})
show("add", lambda: tablets.add_tablet("ks", "t", given))
show("same", lambda: tablets.table_has_tablets("ks", "t"))
for token in (-101, -100, -99, 0, 100, 101):

    class Token:
        value = token

    show(f"at {token}", lambda: told(tablets.get_tablet_for_key("ks", "t", Token)))
    show(f"equality at {token}", lambda: tablets.get_tablet_for_key("ks", "t", Token) == given)


def of(number):
    class Token:
        value = number

    return Token


show("another table", lambda: tablets.get_tablet_for_key("ks", "u", of(0)))
second = Tablet(100, 200, [(C, 0)])
tablets.add_tablet("ks", "t", second)
show(
    "both",
    lambda: (
        tablets.get_tablet_for_key("ks", "t", of(5)) == given,
        tablets.get_tablet_for_key("ks", "t", of(150)) == second,
    ),
)
third = Tablet(50, 150, [(A, 0)])
tablets.add_tablet("ks", "t", third)
show("overlapping", lambda: [told(tablets.get_tablet_for_key("ks", "t", of(number))) for number in (0, 60, 120, 160)])
made = Tablets({("ks", "t"): [Tablet(0, 10, [(A, 1)]), Tablet(10, 20, [(B, 1)])]})
show("made", lambda: [told(made.get_tablet_for_key("ks", "t", of(number))) for number in (0, 1, 10, 11, 20, 21)])
first, other = Tablet(0, 10, [(A, 1)]), Tablet(10, 20, [(B, 1)])
made = Tablets({("ks", "t"): [first, other]})
show(
    "equality of made",
    lambda: (made.get_tablet_for_key("ks", "t", of(3)) == first, made.get_tablet_for_key("ks", "t", of(13)) == other),
)
show("has", lambda: (made.table_has_tablets("ks", "t"), made.table_has_tablets("ks", "u")))
made.drop_tablets_by_host_id(A)
show("dropped by host", lambda: [told(made.get_tablet_for_key("ks", "t", of(number))) for number in (3, 13)])
made.drop_tablets("ks", "t")
show("dropped", lambda: made.get_tablet_for_key("ks", "t", of(13)))
made.add_tablet("ks", "t", first)
made.add_tablet("ks", "u", first)
made.drop_tablets("ks")
show("dropped keyspace", lambda: (made.table_has_tablets("ks", "t"), made.table_has_tablets("ks", "u")))
show("drop none", lambda: made.drop_tablets("no", "t"))
for version in (None, 0, 1, 2**63 - 1, 2**63, 2**64 - 1, -1):
    kept = Tablets({})
    tablet = Tablet(0, 10, [(A, 1)], version)
    kept.add_tablet("ks", "t", tablet)
    kept.add_tablet("ks", "t", Tablet(20, 30, [(A, 1)], version))
    show(
        f"kept {version}",
        lambda: (told(kept.get_tablet_for_key("ks", "t", of(3))), kept.get_tablet_for_key("ks", "t", of(3)) == tablet),
    )
