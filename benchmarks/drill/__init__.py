"""Drills on real servers: three nodes under load while something happens to them (``python -m benchmarks.drill``).

``faults``    what is done to the nodes, and what is asked of a driver meanwhile
``scene``     three nodes, a network that can be cut, the programs that load them; runs one fault
``network``   a TCP relay in front of each node, that loses everything in silence when told to
``program``   the parent's side of a load, whichever driver it uses
``client``    the load itself, of ``workers`` on one session
``orders``    what clients are told, and how they connect: by what scylla-driver and this driver have in common
``scans``     another: whole tables are read, and their sums compared
``cycles``    another: connects, sends, shuts down, again and again
``calls``     what a client reports, call by call
``accounts``  what follows from that: errors, rates, time to recover, what was lost and what was done twice
``verdicts``  figures beside their targets
"""
