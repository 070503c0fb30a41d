"""Models: classes that are tables, and their instances, which are rows.

* ``naming``: where a table is
* ``descriptors``: what class attributes lead to
* ``metaclass``: how a class becomes a model
* ``base``: what instances do
* ``model``: the base class of programs' models
"""
