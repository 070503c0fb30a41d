"""The recipes of docs/recipes.rst: each program does what the page says, with the framework that it is for."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import recipes
from server import reconnect

recipes.prepare()


def run_fastapi():
    import shop_fastapi
    from fastapi.testclient import TestClient

    with TestClient(shop_fastapi.app) as client:  # runs the lifespan
        assert client.put("/items/2", params={"name": "table"}).status_code == 200
        assert client.get("/items/2").json() == {"id": 2, "name": "table"}
        assert client.get("/items/99").status_code == 404


def run_flask():
    import shop_flask

    client = shop_flask.create_app().test_client()
    assert client.get("/items/1").get_json() == {"id": 1, "name": "chair"}
    assert client.get("/items/99").status_code == 404


def run_gunicorn():
    """Workers that are forked from the process that has connected."""
    command = [sys.executable, "-m", "gunicorn", "--preload", "--workers", "2", "--threads", "4"]
    with Path("gunicorn.log").open("w") as log:
        server = subprocess.Popen([*command, "--bind", "unix:http", "shop_flask:create_app()"], stderr=log)
    try:
        for _ in range(8):
            assert get("/items/1") == (200, b'{"id":1,"name":"chair"}\n'), Path("gunicorn.log").read_text()
    finally:
        server.terminate()
        code = server.wait(60)
    assert code == 0, Path("gunicorn.log").read_text()


def get(path):
    """Status and body of a response of the server at the socket ``http``, once it listens."""
    deadline = time.monotonic() + 60
    while True:
        connection = HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        try:
            connection.sock.connect("http")
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()
        except OSError:
            assert time.monotonic() < deadline, Path("gunicorn.log").read_text()
            time.sleep(0.1)
        finally:
            connection.close()


def run_django():
    Path("shop/__init__.py").touch()
    Path("urls.py").write_text(
        "from django.urls import path\nfrom shop import views\n"
        "urlpatterns = [path('items/<int:id>', views.read), path('async/<int:id>', views.read_async)]\n"
    )
    import django
    from django.conf import settings

    applications = ["shop.apps.ShopConfig"]
    settings.configure(INSTALLED_APPS=applications, ROOT_URLCONF="urls", ALLOWED_HOSTS=["*"], SECRET_KEY="x")
    django.setup()
    from django.apps import apps
    from django.test import AsyncClient, Client

    assert Client().get("/items/1").json() == {"id": 1, "name": "chair"}
    assert Client().get("/items/99").status_code == 404

    async def ask():
        client = AsyncClient()
        found, missing = await client.get("/async/1"), await client.get("/async/99")
        return found.json(), missing.status_code

    assert asyncio.run(ask()) == ({"id": 1, "name": "chair"}, 404)
    apps.get_app_config("shop").cluster.shutdown()


def run_celery():
    import shop_celery
    from celery.contrib.testing.worker import start_worker

    with start_worker(shop_celery.app, pool="threads", concurrency=2, perform_ping_check=False):
        results = [shop_celery.store.delay(id, f"item {id}") for id in range(10, 20)]
        assert [result.get(timeout=60) for result in results] == list(range(10, 20))
    session, _ = shop_celery.shop()
    assert session.execute("SELECT name FROM items WHERE id = 12").one().name == "item 12"
    session.cluster.shutdown()


def run_jupyter():
    """In a kernel of its own, as a notebook."""
    import nbformat
    from nbclient import NotebookClient

    code = recipes.read("notebook.txt").split("# %%\n")[1:]
    assert len(code) == 6
    checks = [
        "assert row.name == 'lamp'",
        "assert (7, 'lamp') in rows",
        "assert 'lamp' in set(frame['name'])",
        "assert 'lamp' in set(names)",
    ]
    cells = [*code[:2], checks[0], code[2], checks[1], code[3], checks[2], code[4], checks[3], code[5]]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    kernel = {"name": "python3", "display_name": "python3", "language": "python"}
    notebook.metadata["kernelspec"] = kernel
    NotebookClient(notebook, timeout=120).execute()


os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]))
for recipe in (run_fastapi, run_flask, run_gunicorn, run_django, run_celery, run_jupyter):
    print(recipe.__name__, flush=True)
    recipe()

session = reconnect()
session.execute("DROP KEYSPACE shop")
session.cluster.shutdown()
print("done")
