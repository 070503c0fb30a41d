"""A Django project whose models are in Cassandra: its commands, managers and forms."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import django
from django.conf import settings
from server import HOST, KEYSPACE, PORT, connect

MODELS = """
import uuid
from cassandra.cqlengine import columns
from django_cassandra_engine.models import DjangoCassandraModel

class Book(DjangoCassandraModel):
    id = columns.UUID(primary_key=True, default=uuid.uuid4)
    title = columns.Text(required=True)
    tags = columns.Set(columns.Text)
    pages = columns.Integer()

    class Meta:
        get_pk_field = "id"
"""

os.environ["CQLENG_ALLOW_SCHEMA_MANAGEMENT"] = "1"
connect().cluster.shutdown()

replication = {"strategy_class": "SimpleStrategy", "replication_factor": 1}
options = {"replication": replication, "connection": {"port": PORT}}
settings.configure(
    INSTALLED_APPS=["django_cassandra_engine", "library"],
    DATABASES={
        "default": {"ENGINE": "django_cassandra_engine", "NAME": KEYSPACE, "HOST": HOST, "OPTIONS": options},
    },
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    SECRET_KEY="x",
)
Path("library").mkdir(exist_ok=True)
Path("library/__init__.py").touch()
Path("library/models.py").write_text(MODELS)
sys.path.insert(0, "")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.forms.models import model_to_dict  # noqa: E402
from library.models import Book  # noqa: E402

call_command("sync_cassandra")

book = Book.objects.create(title="t", tags={"a"}, pages=3)
found = Book.objects.get(id=book.id)
assert (found.title, found.tags, found.pages) == ("t", {"a"}, 3)
found.pages = 4
found.save()
found.tags.add("b")
found.save()
assert Book.objects.get(id=book.id).tags == {"a", "b"}
assert Book.objects.filter(id=book.id).first().pages == 4
book.full_clean()
assert [field.name for field in Book._meta.get_fields()] == ["id", "title", "tags", "pages"]
assert model_to_dict(found) == {"id": book.id, "title": "t", "tags": {"a", "b"}, "pages": 4}
found.update(pages=9)
assert Book.objects.get(id=book.id).pages == 9
found.delete()
assert Book.objects.filter(id=book.id).first() is None
print("done")
