"""L2: the protocol messages (public module ``cassandra.protocol``), to and from envelopes."""
