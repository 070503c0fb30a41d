import atexit

from flask import Flask, abort, jsonify

from cassandra.cluster import Cluster


def create_app():
    app = Flask(__name__)
    cluster = Cluster(["127.0.0.1"])
    session = cluster.connect("shop")
    atexit.register(cluster.shutdown)
    by_id = session.prepare("SELECT id, name FROM items WHERE id = ?")

    @app.get("/items/<int:id>")
    def read(id):
        row = session.execute(by_id, (id,)).one()
        if row is None:
            abort(404)
        return jsonify(row._asdict())

    return app
