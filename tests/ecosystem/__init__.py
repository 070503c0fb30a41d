"""Programs and packages written for cassandra-driver or scylla-driver, run unchanged with fastcql on a real Cassandra.

Each package is installed as its users install it, into an environment of its own below ``.venv-eco``: fastcql from this
tree as a wheel, ``python -m cassandra.stand_in`` for the driver that the package requires, then the package and all it
needs in the versions of ``pins.txt``. A program beside that uses it and asserts what its users would see.
A package that needs another Python gets it: the driver is compiled for that, too. Without that Python its test fails.

``packages``      what is run, and which of it is light enough for every run of CI
``pins.txt``      the versions
``environments``  environments, made once and kept
``programs``      what runs in them; knows nothing of fastcql

``make test-ecosystem`` runs all of it, ``make test-integration`` what is light. By hand, also with another driver::

    python -m tests.ecosystem run cassio
    python -m tests.ecosystem run cassio --driver scylla-driver==3.29.12
    python -m tests.ecosystem pin cassio          # pins.txt gets what pip chooses today
"""
