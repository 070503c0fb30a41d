"""L6: the object mapper. Models, query sets and schema over sessions; users import it from ``cassandra.cqlengine``.

In here, too, imports point down only (a test reads the order from this list, lowest first):

* ``errors``: every exception of the mapper, and ``UnicodeMixin``
* ``defaults``: settings that hold for all models
* ``operators``: what may stand between a column and a value
* ``functions``: values that a server computes: ``token()``, ``MinTimeUUID()``
* ``columns``: what a column takes, checks and converts; what of a container changed
* ``clauses``: one condition or assignment as text with placeholders, and what the placeholders stand for
* ``updates``: assignments that change a container in place
* ``statements``: SELECT, INSERT, UPDATE, DELETE, of clauses. They know no session and no model
* ``connections``: sessions by name
* ``usertypes``: user types as classes
* ``instances``: what an instance is: a row as it came, and what a program set
* ``shapes``: statements by what decides their text, prepared once per session
* ``execution``: the one place that runs a statement
* ``query``: filters, query sets, batches, lightweight transactions
* ``models``: models, and what their class attributes lead to
* ``named``: tables without a model
* ``schema``: keyspaces, tables and types made from models
"""
