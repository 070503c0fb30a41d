"""Builds and checks the wheels: ``make wheels``, or ``python -m tools.wheels``.

* ``targets``: which Pythons and platforms there are wheels for, under cibuildwheel's names.
* ``debian``: packages of Debian, for headers and for machines to run on.
* ``headers``: Python's headers for each target.
* ``build``: the sdist, and a wheel from it by Zig's C++ compiler.
* ``bom``: the bill of materials that each wheel holds.
* ``checks``: what can be said of a wheel without running it.
* ``running``: tests on an installed wheel.
"""
