from django.apps import AppConfig

from cassandra.cluster import Cluster


class ShopConfig(AppConfig):
    name = "shop"

    def ready(self):
        self.cluster = Cluster(["127.0.0.1"])
        self.session = self.cluster.connect("shop")
        self.by_id = self.session.prepare(
            "SELECT id, name FROM items WHERE id = ?"
        )
