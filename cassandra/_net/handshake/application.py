"""Application information in STARTUP (L3; public module ``cassandra.application_info``)."""

from __future__ import annotations

from cassandra._base.objects import public


@public("cassandra.application_info")
class ApplicationInfoBase:
    """Subclass it to add options to STARTUP."""

    def add_startup_options(self, options: dict[str, str]) -> None:
        raise NotImplementedError


@public("cassandra.application_info")
class ApplicationInfo(ApplicationInfoBase):
    """Name and version of the application and an id of this client, shown in the server's list of clients."""

    application_name: str | None
    application_version: str | None
    client_id: str | None

    def __init__(
        self,
        application_name: str | None = None,
        application_version: str | None = None,
        client_id: str | None = None,
    ) -> None:
        named = {
            "application_name": application_name,
            "application_version": application_version,
            "client_id": client_id,
        }
        for name, value in named.items():
            if value and not isinstance(value, str):
                raise TypeError(f"{name} should be a string, not {type(value).__name__}")
        self.application_name = application_name
        self.application_version = application_version
        self.client_id = client_id

    def add_startup_options(self, options: dict[str, str]) -> None:
        """Add APPLICATION_NAME, APPLICATION_VERSION and CLIENT_ID, each if it is set."""
        if self.application_name:
            options["APPLICATION_NAME"] = self.application_name
        if self.application_version:
            options["APPLICATION_VERSION"] = self.application_version
        if self.client_id:
            options["CLIENT_ID"] = self.client_id
