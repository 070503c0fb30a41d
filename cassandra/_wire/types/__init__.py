"""The classes of ``cassandra.cqltypes`` (L2): descriptors over native codecs, and where applications extend them."""
