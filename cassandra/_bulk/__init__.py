"""``python -m cassandra.bulk``: tables to files and back (L6). Imported only when the program runs.

* ``main`` is the program; ``connecting`` has the settings, sessions and the context of a command, ``options`` the
  options of COPY, ``console`` exit codes, Ctrl-C and output.
* ``copying`` (``copy`` and ``count``), ``unloading``, ``loading`` and ``differing`` are the commands, over ``tables``
  and ``writer``; ``unloading`` also has the checkpoints and completed ranges of all commands.
* ``waiting`` tells why a command waits, and limits that.
* ``files`` are the formats and safe creation of files, ``streams`` pipes and compression; for CSV ``csv_scan`` (row
  boundaries), ``csv_files`` (lines), ``texts_in`` and ``texts_out`` (values), which ``json_lines`` uses, too.
"""
