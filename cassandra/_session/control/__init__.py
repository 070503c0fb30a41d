"""What the driver itself asks the cluster: :class:`~.control.ControlConnection`, the events that servers push, the
fetches that make a new ``ClusterState`` of system tables, schema agreement, tablets read ahead.
"""
