from functools import cache

from celery import Celery

from cassandra.cluster import Cluster

app = Celery("shop_celery", broker="memory://", backend="cache+memory://")


@cache
def shop():
    session = Cluster(["127.0.0.1"]).connect("shop")
    insert = session.prepare("INSERT INTO items (id, name) VALUES (?, ?)")
    insert.is_idempotent = True
    return session, insert


@app.task(acks_late=True)
def store(id, name):
    session, insert = shop()
    session.execute(insert, (id, name))
    return id
