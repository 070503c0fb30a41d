"""L2: the protocol messages (public module ``cassandra.protocol``), encoded to and decoded from envelopes."""
