"""Models of a Flask application: user types, indexes, and another keyspace at run time."""

from __future__ import annotations

import os
import uuid

from flask import Flask
from flask_cqlalchemy import CQLAlchemy
from server import HOST, KEYSPACE, PORT, connect

os.environ["CQLENG_ALLOW_SCHEMA_MANAGEMENT"] = "1"
connect().cluster.shutdown()

application = Flask(__name__)
application.config["CASSANDRA_HOSTS"] = [HOST]
application.config["CASSANDRA_KEYSPACE"] = KEYSPACE
application.config["CASSANDRA_SETUP_KWARGS"] = {"port": PORT}
db = CQLAlchemy(application)


class Address(db.UserType):
    street = db.columns.Text()


class User(db.Model):
    id = db.columns.UUID(primary_key=True, default=uuid.uuid4)
    name = db.columns.Text(required=True, index=True)
    home = db.columns.UserDefinedType(Address)


db.sync_db()
user = User.create(name="x", home=Address(street="s"))
assert User.get(id=user.id).home.street == "s"
assert User.objects(name="x").count() == 1
user.update(name="y")
assert [found.name for found in User.objects.all()] == ["y"]
db.sync_db()
db.set_keyspace(KEYSPACE)
assert User.objects(id=user.id).first().name == "y"
user.delete()
assert not User.objects.count()
print("done")
