"""A notebook in a kernel of its own: await at top level, tables of results, bars of scans and ingests, data frames."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

CELLS = [
    """
import asyncio
from server import connect
session = connect()
session.execute("CREATE TABLE numbers (id int PRIMARY KEY, name text)")
""",
    """
import pyarrow
ids = range(2000)
table = pyarrow.table({"id": pyarrow.array(ids, "int32"), "name": [f"<b>name {i}</b>" for i in ids]})
report = session.ingest("numbers", table, progress=True)
""",
    "session.execute('SELECT id, name FROM numbers WHERE id = 7')",
    "await session.execute_async('SELECT id, name FROM numbers WHERE id = 8')",
    "scan = session.scan('numbers', progress=True)\nframe = scan.to_pandas()",
    "frame.groupby(frame['id'] % 2)['id'].count().to_dict()",
    """
async def count():
    return sum([1 async for row in session.scan("numbers").rows()])

await asyncio.gather(count(), count())
""",
    "(await session.scan('numbers').to_arrow_async()).num_rows",
    "(await session.scan('numbers').to_polars_async()).height",
    """
import duckdb
relation = session.scan('numbers').to_duckdb()
duckdb.sql('SELECT max(id) FROM relation').fetchall()
""",
    "session.scan('numbers')",
    "session.cluster",
    "session",
    "session.cluster.metadata.keyspaces[session.keyspace].tables['numbers']",
    "session.prepare('SELECT name FROM numbers WHERE id = ?')",
    "session.scan('numbers').explain()",
    "session.cluster.shutdown()",
]


def run() -> list[list[dict]]:
    """Return the outputs of the cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "python3", "language": "python"}
    NotebookClient(notebook, timeout=300).execute()
    if path := os.environ.get("NOTEBOOK_HTML"):  # to look at it
        Path(path).write_text("\n".join(html_of(cell.outputs) for cell in notebook.cells))
    return [cell.outputs for cell in notebook.cells]


def html_of(outputs: list[dict]) -> str:
    return "\n".join(output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {}))


def text_of(outputs: list[dict]) -> str:
    return "\n".join(output["data"]["text/plain"] for output in outputs if "text/plain" in output.get("data", {}))


os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
outputs = run()
assert not any(output["output_type"] in ("stream", "error") for cell in outputs for output in cell), (
    "nothing is printed"
)

ingested, scanned = outputs[1], outputs[4]
for bar in (ingested, scanned):  # one output, which was updated to its last state
    assert len(bar) == 1 and bar[0]["output_type"] == "display_data", bar
    assert '<progress value="1.0000"' in html_of(bar) and "2,000 rows" in text_of(bar), bar

for cell, number in ((outputs[2], 7), (outputs[3], 8)):
    assert f"&lt;b&gt;name {number}&lt;/b&gt;" in html_of(cell) and "<b>name" not in html_of(cell)
    assert text_of(cell).splitlines()[0] == "<ResultSet: 1 row>"
assert text_of(outputs[5]) == "{0: 1000, 1: 1000}"
assert [text_of(cell) for cell in outputs[6:10]] == ["[2000, 2000]", "2000", "2000", "[(1999,)]"]
for cell in outputs[10:16]:
    assert html_of(cell).startswith("<table>") and "cannot be shown" not in html_of(cell)
print("done")
