"""IPython, at its prompt with top-level await, and loops that nest_asyncio lets run in one another."""

from __future__ import annotations

import asyncio

import nest_asyncio
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from server import connect

session = connect()
session.execute("CREATE TABLE t (k int PRIMARY KEY, v text)")

shell = InteractiveShell.instance()
shell.user_ns["session"] = session
with capture_output() as printed:
    shell.run_cell("session.execute(\"INSERT INTO t (k, v) VALUES (1, 'one')\")")
    done = shell.run_cell("session.execute('SELECT * FROM t').one()")
    shell.run_cell("import asyncio")
    awaited = shell.run_cell("(await asyncio.to_thread(session.execute, 'SELECT v FROM t')).one().v")
    wrong = shell.run_cell("session.execute('SELECT * FROM nowhere')")
assert done.success and done.result == (1, "one"), printed.stdout
assert "Row(k=1, v='one')" in printed.stdout
assert awaited.success and awaited.result == "one"
assert not wrong.success and "InvalidRequest" in printed.stdout + printed.stderr
shell.Completer.use_jedi = False  # it completes only what is typed at a terminal
assert {".execute", ".execute_async"} <= set(shell.complete("session.exec")[1])

nest_asyncio.apply()


async def inner():
    future = asyncio.get_running_loop().create_future()
    request = session.execute_async("SELECT v FROM t WHERE k = 1")
    loop = asyncio.get_running_loop()
    request.add_callbacks(
        lambda rows: loop.call_soon_threadsafe(future.set_result, rows[0].v),
        lambda error: loop.call_soon_threadsafe(future.set_exception, error),
    )
    return await future


async def outer():
    """As in a notebook's cell: the loop runs, and is run again from inside."""
    loop = asyncio.get_running_loop()
    assert loop.run_until_complete(inner()) == "one"
    assert session.execute("SELECT v FROM t").one().v == "one"
    return asyncio.run(inner())


assert asyncio.run(outer()) == "one"
session.cluster.shutdown()
print("done")
