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

    def __post_init__(self) -> None:
        if not self.programs:
            object.__setattr__(self, "programs", (f"with_{self.name.replace('-', '_')}.py",))


PACKAGES = {
    package.name: package
    for package in (
        Package("cqlsh", ("cqlsh",), light=True),
        Package("opentelemetry", ("opentelemetry-instrumentation-cassandra", "opentelemetry-sdk"), light=True),
        Package("ddtrace", ("ddtrace<3.20",), light=True),
        Package("elastic-apm", ("elastic-apm",), light=True),
        Package("cassio", ("cassio",), light=True),
        Package("langchain", ("langchain-community", "cassio")),
        Package("llama-index", ("llama-index-vector-stores-cassandra", "llama-index-core", "cassio")),
        Package("flask-cqlalchemy", ("flask-cqlalchemy", "flask")),
        Package("django-cassandra-engine", ("django-cassandra-engine",)),
        Package("cassandra-medusa", ("cassandra-medusa",)),
        Package("newrelic", ("newrelic",)),
        Package("aiocassandra", ("aiocassandra",)),
        Package("baseplate", ("baseplate[cassandra]",)),
        Package("notebooks", ("ipython", "nest-asyncio", "ipykernel")),
        Package("celery", ("celery", "gevent"), programs=("with_celery_prefork.py", "with_celery_gevent.py")),
    )
}
