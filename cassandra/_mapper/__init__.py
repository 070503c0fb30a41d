"""L6: the object mapper. Models, query sets and schema over sessions; users import it from ``cassandra.cqlengine``.

Imports inside the package point down only; a test reads the order from this list, lowest first:

* ``errors``: all exceptions of the mapper, and ``UnicodeMixin``
* ``defaults``: settings that hold for all models
* ``operators``: operators between a column and a value
* ``functions``: values computed by the server: ``token()``, ``MinTimeUUID()``
* ``columns``: validation and conversion of column values; changes of containers
* ``clauses``: one condition or assignment as text with placeholders, and the values of the placeholders
* ``updates``: assignments that change a container in place
* ``statements``: SELECT, INSERT, UPDATE, DELETE, built from clauses; independent of sessions and models
* ``connections``: sessions by name
* ``usertypes``: user types as classes
* ``instances``: state of an instance: the loaded row and the assigned values
* ``shapes``: statement shapes: the properties that determine the text; prepared once per session
* ``execution``: the only place that executes statements
* ``query``: filters, query sets, batches, lightweight transactions
* ``models``: model classes and the descriptors of their attributes
* ``named``: tables without a model
* ``schema``: keyspaces, tables and types made from models
"""
