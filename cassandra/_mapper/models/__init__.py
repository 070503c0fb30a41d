"""Models: classes for tables, with instances for rows.

* ``naming``: keyspace and name of a table
* ``descriptors``: class attributes of models
* ``metaclass``: creation of model classes
* ``base``: methods of instances
* ``model``: base class of the models of programs
"""
