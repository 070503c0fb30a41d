"""A cloud as secure connect bundles describe it: nodes behind one TLS proxy that tells them apart by server name, and a
metadata service that knows their names.

Both want a client's certificate of the same authority. One thread with an asyncio loop runs all of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import ssl
import threading
import zipfile
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from .accepting import Handle, Listener
from .certificates import Certificates

Address = tuple[str, int]


class SniCloud:
    """``with SniCloud(folder, {host_id: address of its node}) as cloud: Cluster(cloud={..: cloud.bundle()})``."""

    host = "127.0.0.1"

    def __init__(self, folder: Path, nodes: Mapping[str, Address]) -> None:
        self.nodes = dict(nodes)  # may be changed at any time
        self.certificates = Certificates.generate(folder, [], ["proxy.example"])
        self.asked: list[str] = []  # the server names of the connections so far
        self.metadata: Callable[[], tuple[int, bytes]] = self._metadata
        self.proxy_port = self.service_port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sni-cloud", daemon=True)
        self._listeners: list[Listener] = []
        self._names: dict[ssl.SSLObject | ssl.SSLSocket, str | None] = {}

    def bundle(self, **changes: bytes | None) -> bytes:
        """The archive; *changes* replaces files, by their name with a ``_`` for the dot, or leaves them out (None)."""
        config = {
            "host": self.host, "port": self.service_port, "keyspace": "app", "localDC": "dc1",
            "username": "app", "password": "s3cret", "caCertLocation": "./ca.crt", "pfxCertPassword": "s3cret",
        }  # fmt: skip
        made = self.certificates
        files: dict[str, bytes | None] = {
            "config_json": json.dumps(config).encode(),
            "ca_crt": made.ca.read_bytes(),
            "cert": made.client_cert.read_bytes(),
            "key": made.client_key.read_bytes(),
        }
        files.update(changes)
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
            for name, content in files.items():
                if content is not None:
                    written.writestr(name.replace("_", "."), content)
        return archive.getvalue()

    def cut(self) -> None:
        """Close all connections of the proxy."""
        self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        for listener in self._listeners:
            listener.cut()

    # ---- servers

    def __enter__(self) -> SniCloud:
        self._thread.start()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificates.server)
        context.load_verify_locations(self.certificates.ca)
        context.verify_mode = ssl.CERT_REQUIRED
        context.sni_callback = self._named
        self.proxy_port = self._run(self._serve(self._forward, context))
        self.service_port = self._run(self._serve(self._answer, context))
        return self

    def __exit__(self, *exception: object) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _serve(self, handle: Handle, context: ssl.SSLContext) -> int:
        listener = Listener(self.host, handle, context)
        self._listeners.append(listener)
        return listener.port

    async def _stop(self) -> None:
        for listener in self._listeners:
            await listener.close()

    def _named(self, connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, context: ssl.SSLContext) -> None:
        self._names[connection] = name
        if name is not None:
            self.asked.append(name)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = self._names.pop(writer.get_extra_info("ssl_object"), None)
        if name in self.nodes:
            there, back = await asyncio.open_connection(*self.nodes[name])
            try:
                await asyncio.gather(_copy(reader, back), _copy(there, writer))
            finally:
                back.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            request = await reader.readuntil(b"\r\n\r\n")
            status, body = self.metadata() if request.startswith(b"GET /metadata ") else (404, b"")
            head = f"HTTP/1.1 {status} -\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + body)
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    def _metadata(self) -> tuple[int, bytes]:
        contact = {
            "type": "sni_proxy", "local_dc": "dc1", "contact_points": list(self.nodes),
            "sni_proxy_address": f"{self.host}:{self.proxy_port}",
        }  # fmt: skip
        return 200, json.dumps({"version": 1, "region": "test", "contact_info": contact}).encode()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.transport.abort()
