"""``python -m cassandra.bulk``: tables to files and back (L6). Imported only when the program runs.

* ``main`` is the program; ``connecting``, ``cqlshrc`` and ``copy_options`` read its options, ``context`` is what a
  command gets from them; ``errors`` has the exit codes, ``interrupts`` handles Ctrl-C, ``showing`` writes the output.
* ``counting``, ``unloading``, ``loading``, ``copying`` and ``differing`` are the commands, over ``tables``, ``ranges``
  (completed parts of the ring), ``checkpoint`` and ``writer`` (``session.ingest``; ``cells`` for rows that it cannot
  write).
* ``files`` are the formats; for CSV ``kinds`` (types), ``style`` (spelling of values), ``csv_in`` and ``csv_out``
  (lines), ``texts_in``, ``texts_out``, ``nested`` and ``durations`` (values).
"""
