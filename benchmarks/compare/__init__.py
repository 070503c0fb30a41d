"""The figures of docs/performance.rst: this driver beside all peers, as JSON, tables and pictures.

``python -m benchmarks compare`` measures; with ``--render`` it makes tables and pictures again from the JSON. Read in
this order:

``workloads``  what is measured, and how an application of each driver writes it
``run``        starts the clients in turns and collects their figures
``machine``    the machine and the versions, without names of hosts
``figures``    the JSON: medians with their spread, and where others are better
``tables``     CSV and reStructuredText of the figures
``pictures``   what pictures show
``plots``      draws them as SVG, for light and for dark pages; needs matplotlib
"""
