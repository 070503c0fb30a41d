"""L6: the object mapper. Models, query sets and schema over sessions; users import it from ``cassandra.cqlengine``.

Imports inside the package point down only; a test reads the order from this list, lowest first:

* ``errors``: all exceptions of the mapper, and ``UnicodeMixin``
* ``display``: tables of query sets and explanations, for people
* ``clauses``: operators, functions of the server, and conditions and assignments as text with placeholders
* ``columns``: declaration of scalar columns in a model, validation and conversion of their values
* ``containers``: the same of collections and user types
* ``statements``: SELECT, INSERT, UPDATE, DELETE, built from clauses; independent of sessions and models
* ``connections``: sessions by name, and settings that hold for all models
* ``usertypes``: user types as classes
* ``instances``: state of an instance: the loaded row and the assigned values
* ``execution``: the only place that executes statements; statement shapes, prepared once per session
* ``conditions``: conditions on columns, from the arguments of ``filter()`` and ``iff()``
* ``reading``: rows of a query set, page by page; instances from rows
* ``writing``: statements that write an instance; batches
* ``query_base``: conditions and options of query sets; models temporarily in another keyspace
* ``query_models``: query sets of models
* ``plans``: how a model is read and written, with texts that are composed once
* ``model``: models: their metaclass, the descriptors of their attributes, keyspace and name of the table
* ``named``: tables without a model
* ``schema``: keyspaces, tables and types made from models
"""
