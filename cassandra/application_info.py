"""Application information that is sent to servers, passed to ``Cluster(application_info=...)``."""

from cassandra._net.handshake import ApplicationInfo, ApplicationInfoBase

__all__ = ["ApplicationInfo", "ApplicationInfoBase"]
