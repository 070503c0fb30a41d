"""cassandra-sigv4: its answers to a server that asks for a signature, here a proxy before one that asks for nothing."""

from __future__ import annotations

import re
import socket
import struct
import threading

import boto3
from cassandra_sigv4.auth import SigV4AuthProvider
from server import HOST, PORT

from cassandra.cluster import Cluster

NONCE = b"91703fdc2ef562e19fbdab0f58e42fe5"
STARTUP, AUTHENTICATE, AUTH_CHALLENGE, AUTH_RESPONSE, AUTH_SUCCESS = 0x01, 0x03, 0x0E, 0x0F, 0x10
answers = []


def frame(stream):
    """The next one, of protocol 4: header, body."""
    header = stream.read(9)
    return header, stream.read(struct.unpack(">i", header[5:])[0]) if len(header) == 9 else b""


def answer(request, opcode, body):
    return b"\x84\0" + request[2:4] + bytes([opcode]) + struct.pack(">i", len(body)) + body


def serve(client):
    server = socket.create_connection((HOST, PORT))
    asking, answering = client.makefile("rb"), server.makefile("rb")
    startup = None
    while True:
        header, body = frame(asking)
        if len(header) < 9:
            return
        if header[4] == STARTUP:
            startup = header + body
            name = b"org.apache.cassandra.auth.SigV4"
            client.sendall(answer(header, AUTHENTICATE, struct.pack(">H", len(name)) + name))
        elif header[4] == AUTH_RESPONSE and body[4:] == b"SigV4\0\0":
            nonce = b"nonce=" + NONCE + b"\0"
            client.sendall(answer(header, AUTH_CHALLENGE, struct.pack(">i", len(nonce)) + nonce))
        elif header[4] == AUTH_RESPONSE:
            answers.append(body[4:].decode())
            server.sendall(startup)
            frame(answering)
            client.sendall(answer(header, AUTH_SUCCESS, struct.pack(">i", -1)))
            break
        else:
            server.sendall(header + body)
            client.sendall(b"".join(frame(answering)))
    threading.Thread(target=pump, args=(server, client), daemon=True).start()
    pump(client, server)


def pump(source, target):
    while data := source.recv(65536):
        target.sendall(data)


def accept():
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


listener = socket.create_server((HOST, 0))
threading.Thread(target=accept, daemon=True).start()
boto = boto3.Session("UserID-1", "UserSecretKey-1", region_name="us-west-2")
port = listener.getsockname()[1]
cluster = Cluster([HOST], port=port, auth_provider=SigV4AuthProvider(boto), protocol_version=4, compression=False)
session = cluster.connect()
assert session.execute("SELECT cluster_name FROM system.local").one().cluster_name
assert len(answers) >= 2
form = r"signature=[0-9a-f]{64},access_key=UserID-1,amzdate=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
assert all(re.fullmatch(form, found) for found in answers), answers
cluster.shutdown()
print("done")
