"""What the application tells servers about itself, given to ``Cluster(application_info=...)``."""

from cassandra._net.handshake.application import ApplicationInfo, ApplicationInfoBase

__all__ = ["ApplicationInfo", "ApplicationInfoBase"]
