"""Secure connect bundles, as far as they can be read without a database."""

# mypy: ignore-errors
import json
import logging
import ssl
import tempfile
import warnings
from pathlib import Path

from cases import each, show

from cassandra.cluster import Cluster
from cassandra.connection import SniEndPoint, SniEndPointFactory
from cassandra.datastax import cloud
from cassandra.datastax.cloud import CloudConfig

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")  # ours warns of ssl_options before it refuses them

FOLDER = Path(tempfile.mkdtemp())
NOT_SPECIFIED = [{}, {"use_default_tempdir": True}]


def of(d):
    config = CloudConfig.from_dict(d)
    return [(name, getattr(config, name)) for name in NAMES]


NAMES = ["port", "username", "password", "host", "keyspace", "local_dc"]
NAMES += ["ssl_context", "sni_host", "sni_port", "host_ids"]
FULL = {"username": "u", "password": "p", "host": "h", "port": 29080, "keyspace": "k", "localDC": "dc1"}


def metadata(data, config=None):
    found = cloud.parse_metadata_info(config or CloudConfig(), data if isinstance(data, str) else json.dumps(data))
    return [(name, getattr(found, name)) for name in NAMES]


CONTACT = {"type": "sni_proxy", "local_dc": "dc1", "contact_points": ["a", "b"], "sni_proxy_address": "proxy.x:29042"}

show("product", lambda: cloud.DATASTAX_CLOUD_PRODUCT_TYPE)
show("all", lambda: set(cloud.__all__) >= {"get_cloud_config"})
show("class attributes", lambda: [getattr(CloudConfig, name) for name in NAMES])
show("empty", of, {})
show("full", of, FULL)
show("port as text", of, {**FULL, "port": "29080"})
show("unknown keys", of, {**FULL, "cql_port": 1, "caCertLocation": "./ca.crt"})
each("without", lambda name: of({key: value for key, value in FULL.items() if key != name}), list(FULL))
show("a port that is none", of, {"port": "x"})

show("metadata", metadata, {"contact_info": CONTACT})
show("metadata with more", metadata, {"version": 1, "region": "r", "contact_info": {**CONTACT, "more": 1}})
show("metadata of another dc", metadata, {"contact_info": {**CONTACT, "local_dc": "dc9"}}, CloudConfig.from_dict(FULL))
show("the same", lambda: (c := CloudConfig()) is cloud.parse_metadata_info(c, json.dumps({"contact_info": CONTACT})))
each("no metadata", metadata, ["", "<html>", "{", "nothing"])

each("get", cloud.get_cloud_config, NOT_SPECIFIED, text=True)
each("Cluster", lambda given: Cluster(cloud=given), NOT_SPECIFIED[1:], text=True)


def bundle(path, function=cloud.get_cloud_config, **options):
    return function({"secure_connect_bundle": path, **options})


(FOLDER / "text").write_text("no archive")
show("a bundle that is missing", bundle, "/no/such/bundle.zip", text=True)
show("an archive that is missing", bundle, "/no/such/bundle.zip", cloud.read_cloud_config_from_zip, text=True)
show("no archive", bundle, str(FOLDER / "text"))
show("no archive, default tempdir", bundle, str(FOLDER / "text"), use_default_tempdir=True)
show("no archive, by hand", bundle, str(FOLDER / "text"), cloud.read_cloud_config_from_zip)
show("a cluster with no archive", lambda: Cluster(cloud={"secure_connect_bundle": str(FOLDER / "text")}))
show("no bundle, by hand", cloud.read_cloud_config_from_zip, {})
show("a config.json that is missing", cloud.parse_cloud_config, "/no/such/config.json", {}, text=True)
show("a folder for a config.json", cloud.parse_cloud_config, str(FOLDER), {})
(FOLDER / "config.json").write_text(json.dumps(FULL))
show("no certificates", cloud.parse_cloud_config, str(FOLDER / "config.json"), {})

OWN = {
    "contact_points": ["10.0.0.1"],
    "endpoint_factory": SniEndPointFactory("proxy", 1),
    "ssl_context": ssl.create_default_context(),
    "ssl_options": {"check_hostname": False},
}
for name, value in OWN.items():
    show(f"cloud and {name}", Cluster, cloud={"secure_connect_bundle": "/no/such"}, **{name: value})

nobody = CloudConfig.from_dict({"host": "127.0.0.1", "port": 1})
nobody.ssl_context = ssl.create_default_context()
show("nobody answers", cloud.read_metadata_info, nobody, {})

FACTORY = SniEndPointFactory("proxy.x", 29042)
show("endpoint", lambda: str(FACTORY.create_from_sni("id")))
show("endpoint of a row", lambda: str(FACTORY.create({"host_id": "id"})))
show("endpoint of no row", FACTORY.create, {})
show("address and port", lambda: (FACTORY.create_from_sni("id").address, FACTORY.create_from_sni("id").port))
show("options", lambda: FACTORY.create_from_sni("id").ssl_options)
show("family", lambda: FACTORY.create_from_sni("id").socket_family)
show("equal", lambda: FACTORY.create_from_sni("id") == SniEndPoint("proxy.x", "id", 29042))
show("another name", lambda: FACTORY.create_from_sni("id") == SniEndPoint("proxy.x", "ie", 29042))
show("another port", lambda: FACTORY.create_from_sni("id") == SniEndPoint("proxy.x", "id", 1))
show("hash", lambda: len({FACTORY.create_from_sni("id"), FACTORY.create_from_sni("id")}))
show("resolve", lambda: SniEndPointFactory("127.0.0.1", 9).create_from_sni("id").resolve())
show("scylla_cloud", lambda: Cluster(scylla_cloud="/no/such"))
