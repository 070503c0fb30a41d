"""``python -m cassandra.bulk``: tables to files and back (L6), imported when somebody runs it.

* ``main`` is the program; ``connecting``, ``cqlshrc`` and ``copy_options`` are what it is told, ``context`` what a
  command has of that; ``errors`` is how it ends, ``interrupts`` Ctrl-C, ``showing`` who looks at it.
* ``counting``, ``unloading``, ``loading``, ``copying`` and ``differing`` are the commands, over ``tables``, ``ranges``
  (what of the ring is done), ``checkpoint`` and ``writer`` (``session.ingest``; ``cells`` where that cannot write).
* ``files`` are the formats; for CSV ``kinds`` (types), ``style`` (how values look), ``csv_in`` and ``csv_out`` (lines),
  ``texts_in``, ``texts_out``, ``nested`` and ``durations`` (values).
"""
