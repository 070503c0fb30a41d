from airflow.sdk import dag, task

from cassandra.cluster import Cluster
from cassandra.scan import Count


@task
def count_items():
    with Cluster(["127.0.0.1"]) as cluster:
        return cluster.connect("shop").scan("items").fold(Count())


@dag(schedule=None)
def shop():
    count_items()


shop()
