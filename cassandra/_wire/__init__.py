"""L2: Python classes for CQL types and protocol messages. Independent of sockets."""
