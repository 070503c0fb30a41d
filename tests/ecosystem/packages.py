"""What is run: the requirements that a user would write, and the program that uses them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Package:
    """*requires* is what a user asks pip for; the versions of all that this brings are in ``pins.txt``."""

    name: str
    requires: tuple[str, ...]
    light: bool = False  # seconds to install and to run: part of every run of CI
    programs: tuple[str, ...] = field(default=())
    python: str = ""  # where it needs another one than ours
    stand_ins: tuple[str, ...] = ()  # other versions of the drivers than the latest
    constraints: tuple[str, ...] = ()  # on what its requirements are built with

    def __post_init__(self) -> None:
        if not self.programs:
            object.__setattr__(self, "programs", (f"with_{self.name.replace('-', '_')}.py",))


PACKAGES = {
    package.name: package
    for package in (
        Package("cqlsh", ("cqlsh",), light=True),
        Package("scylla-cqlsh", ("scylla-cqlsh",), programs=("with_cqlsh.py",)),
        Package("opentelemetry", ("opentelemetry-instrumentation-cassandra", "opentelemetry-sdk"), light=True),
        Package("ddtrace", ("ddtrace<3.20",), light=True),
        Package("elastic-apm", ("elastic-apm",), light=True),
        Package("cassio", ("cassio",), light=True),
        Package("langchain", ("langchain-community", "cassio")),
        Package("llama-index", ("llama-index-vector-stores-cassandra", "llama-index-core", "cassio")),
        Package("langchain-cassandra", ("langchain-cassandra", "numpy")),
        Package("mem0", ("mem0ai", "numpy")),
        Package("langgraph-cassandra", ("langgraph-checkpoint-cassandra",), python="3.12"),
        Package("langgraph-scylladb", ("langgraph-checkpoint-scylladb",), python="3.12"),
        Package("feast", ("feast[cassandra]",)),
        Package("flask-cqlalchemy", ("flask-cqlalchemy", "flask")),
        Package("django-cassandra-engine", ("django-cassandra-engine",)),
        Package("aiocqlengine", ("aiocqlengine", "six")),  # which it does not ask for
        Package("cassandra-medusa", ("cassandra-medusa",), stand_ins=("cassandra-driver==3.29.2",)),
        Package(
            "airflow",
            ("apache-airflow-providers-apache-cassandra",),
            programs=("with_airflow.py", "with_recipes_airflow.py"),
        ),
        Package("cql-track", ("cql-track",)),
        Package("cassachange", ("cassachange",)),
        Package("cstar-migrate", ("cstar-migrate",), programs=("with_cassandra_migrate.py",)),
        Package(
            "cassandra-migrate",
            ("cassandra-migrate",),
            stand_ins=("cassandra-driver==3.24.0",),
            constraints=("Cython<3", "setuptools<70"),  # its PyYAML is one that others do not build
        ),
        Package(
            "cassarrow",
            ("cassarrow", "pyarrow<10", "numpy<2"),
            python="3.10",
            constraints=("pyarrow<10", "numpy<2", "setuptools<70"),  # what it was written for
        ),
        Package("coodie", ("coodie[scylla]",)),
        Package("harlequin", ("harlequin-cassandra",)),
        Package("keyspaces-mcp", ("awslabs-amazon-keyspaces-mcp-server",)),
        Package("cassandra-sigv4", ("cassandra-sigv4",)),
        Package("newrelic", ("newrelic",)),
        Package("instana", ("instana",)),
        Package("aiocassandra", ("aiocassandra",)),
        Package("cassandra-asyncio", ("cassandra-asyncio-driver",)),
        Package("async-cassandra", ("async-cassandra",), python="3.12"),
        Package("baseplate", ("baseplate[cassandra]",), constraints=("setuptools<81",)),  # which has pkg_resources
        Package(
            "notebooks",
            ("ipython", "nest-asyncio", "ipykernel", "nbclient", "pandas", "polars", "duckdb", "pyarrow"),
            programs=("with_notebooks.py", "with_jupyter.py"),
        ),
        Package("pyright", ("pyright[nodejs]",)),  # what editors show of the types, of the driver as it is installed
        Package(
            "recipes",  # of docs/recipes.rst
            ("fastapi", "httpx", "flask", "gunicorn", "django", "celery", "ipykernel", "nbclient", "pandas", "pyarrow"),
        ),
        Package("celery", ("celery", "gevent"), programs=("with_celery_prefork.py", "with_celery_gevent.py")),
    )
}
