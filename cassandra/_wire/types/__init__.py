"""The classes of ``cassandra.cqltypes`` (L2): descriptors over native codecs, and extension by applications."""
