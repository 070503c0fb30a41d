"""Where the public API differs from scylla-driver's on purpose, and why. ``*`` stands for any one name."""

from __future__ import annotations

NO_REACTORS = "there is one native transport for all connection classes"
NEW_WRITE_TYPE = "TRANSACTION, of Accord, is a write type too"


DIFFERENCES: dict[str, str] = {
    "cassandra.WriteType.name_to_value": NEW_WRITE_TYPE,
    "cassandra.WriteType.value_to_name": NEW_WRITE_TYPE,
    "cassandra.cqltypes.*.serialize": "the parameter has one name in all classes (theirs: var, byts, truth, ...)",
    "cassandra.cqltypes.MapType.serialize_safe": "the parameter has one name in all classes",
    "cassandra.io.asyncioreactor.AsyncioConnection": NO_REACTORS,
    "cassandra.io.asyncorereactor.AsyncoreConnection": NO_REACTORS,
    "cassandra.io.libevreactor.LibevConnection": NO_REACTORS,
}

#: Attributes of live objects whose values are of another type.
LIVE: dict[str, str] = {
    "BoundStatement.raw_values": "values are kept as they were given",
    "Cluster.executor": "its submit() is a ThreadPoolExecutor's; the driver's scheduler runs behind it",
    "Cluster.scheduler": "one scheduler runs immediate and delayed calls",
    "Cluster.sessions": "a set that holds its sessions weakly and is safe to iterate while others connect",
    "Function.monotonic_on": "a list, as argument_names and argument_types are",
    "IndexMetadata.index_options": "a plain dict: keys are text",
    "Metadata.refresh": "read by Cluster.refresh_schema_metadata() and its like, on the control connection alone",
    "QueryTrace.events": "a list, to be sorted and filtered",
    "TimestampGen.lock": "re-entrant: the handler of a signal may make a request while its thread has it",
    "TableMetadata.columns": "a plain dict: every dict keeps its order",
    "TableMetadata.extensions": "a plain dict: keys are text",
    "TableMetadata.triggers": "a plain dict: every dict keeps its order",
}

#: Behaviour without a case in the programs of this folder, because values, types and texts differ on purpose.
VALUES: dict[str, str] = {
    "bind, serialize: class of the error": "TypeError where theirs is AttributeError or struct.error by accident",
    "bind: an int for a blob": "refused: theirs stores that many zero bytes",
    "bind: an object for a user type that has none of its fields": "refused: theirs stores nulls",
    "bind: a named tuple for a user type": "by name if the type has its names; theirs is bound by position",
    "bind, literals: masked elements, complex numbers, scopes and prefix lengths of addresses": "refused: part is lost",
    "literals of dicts registered for user types": "by key; theirs writes nulls",
    "bind: a null in a key of several columns": "bound, and not routed; theirs raises TypeError",
    "bind: too few values on protocol 3": "refused at once; the server refuses theirs",
    "bind: mappings and short tuples for user types, whole numbers of any kind": "taken; theirs raises",
    "deserialize: bytes that are no value": "a DriverException that is a ValueError; theirs raises struct.error",
    "deserialize: bytes too many in a collection": "an error; theirs ignores them",
    "deserialize: no bytes": "None, as from_binary; theirs raises",
    "timestamp beyond datetime": "milliseconds; theirs raises OverflowError",
    "Time(-1), Time('23:59:60'), ten digits of a second": "refused: the server refuses them, or they are another time",
    "Duration with two signs": "refused before it is sent; the server refuses it",
    "cql_parameterized_type": "vector<float, 3> and quoted names of user types, which are CQL; theirs is not",
    "cass_parameterized_type of vectors, user types and composites": "complete, so that it can be parsed again",
    "lookup_casstype of malformed text": "ValueError; theirs returns some class",
    "subtypes, fieldnames": "tuples, of every class; theirs has lists, and nothing where there are no parameters",
    "DateType.interpret_datestring": "an offset is subtracted: 12:00+0200 is 10:00 UTC; theirs adds it",
    "WKT": "keywords in small letters and spaces before are taken, text behind is refused; Distance has numbers",
    "literals of Decimal": "exact; theirs passes through float",
    "literals of subclasses of str, and of DateRange": "in quotes",
    "literals of objects of other types": "TypeError; theirs writes str() without quotes, which may be any CQL",
    "cql_quote, ValueQuoter: None, bytes, dates": "NULL, 0x00, '2024-01-01'; theirs writes str() without quotes",
    "Model.ttl, limit: text that is no number": "TypeError; theirs writes it into the statement",
    "literals of dates before the year 1000": "four digits; the server refuses theirs",
    "inet from text: '5', '1.2.3'": "refused: theirs takes them for other addresses, as inet_aton does",
    "Model.save after a change of the key": "writes nulls, too; theirs leaves old values of the other row",
    "Model.save after delete()": "inserts the row; theirs writes nothing",
    "Model.save of a container that was emptied": "is written once",
    "sortedset": "equals lists with repeated items; has discard, and symmetric_difference of lists",
    "Date, Version": "compare with whole numbers and dates; hash",
    "str of a server's error": "has its details, as to_exception() has",
    "AuthSuccessMessage.token": "the server's bytes, or None; theirs is text, and fails where they are none",
    "AuthResponseMessage(None)": "an answer of no bytes; theirs raises TypeError",
    "ExecuteMessage: no parameters, skip_meta": "not sent; sent as it says, theirs goes by the negotiated features",
    "an event of another kind than was asked for": "ProtocolError; theirs raises NotSupportedError",
    "str of end points of IPv6": "[::1]:9042; theirs is ::1:9042",
    "order of end points behind a proxy": "by their names, too",
    "ProtocolFeatures of servers that tell half of their sharding": "no sharding; theirs raises, or guesses",
    "a Timer whose callback raises": "is over; theirs is called for ever",
    "fmix, rotl64": "numbers of 64 bits; those of theirs grow",
    "WriteTimeout without a write type": "can be made; theirs raises KeyError",
    "class of keyspaces, tables and the other dicts of a keyspace": "a subclass of dict; copies are plain",
    "repr of ResultSet": "shows the number of rows and the first ones",
    "repr of query sets, clusters, sessions and schema objects": "shows names, statements and states",
    "make_query_plan: working_keyspace": "the statement's keyspace, where it has one; theirs is the session's",
}

#: Different behaviour, by the paragraph of docs/migrating.rst with the reason. The programs have no case for it.
BEHAVIOUR: dict[str, list[str]] = {
    "A statement is not executed twice by accident.": [
        "policies resend requests that may have been executed only if idempotent; without a statement they resend",
    ],
    "A retry keeps the consistency level of the statement": ["the level that a policy is called with is not asked for"],
    "A page that cannot be fetched raises until it is fetched.": ["one() and bool() pass over empty pages"],
    "Large pages are decoded while they are read.": ["current_rows above 1 MiB is a lazy sequence"],
    "A statement is executed in its keyspace, or rejected.": ["UnsupportedOperation before protocol 5"],
    "Statements on a recreated table must be prepared again.": ["DriverException that names the columns"],
    "A timeout covers the whole call.": ["schema agreement, metadata and USE are part of it"],
    "Contact points are tried in random order": ["the local datacenter is that of the first one given all the same"],
    "Policies list each host once.": ["RackAwareRoundRobinPolicy refuses empty names"],
    "Options are checked when they are given.": ["contact_points becomes a list", "also when they are set later"],
    "Statements are checked when they are created.": [
        "serial levels of batches, values that are missing on protocol 3, statements that are added to a batch",
        "a list as routing key is packed at once, and its parts may be text",
        "BoundStatement needs no partition key to be made, and its routing_key can be set",
    ],
    "Results support more operations.": [
        "next(result), results without a future, was_applied is always a bool",
        "result[0] is not deprecated: a result keeps its rows, and one() does not replace it in all programs",
    ],
    "Encrypted columns": ["ciphers, and cache_info(), are of each policy; theirs are of the process, for its life"],
    "CQL of the schema.": [
        "strategies with wrong options: unknown ones, which print them and route nothing; theirs are None",
        "EverywhereStrategy of ScyllaDB: known; theirs is unknown",
    ],
    "DRIVER_CONFIG describes this driver:": ["32,768 requests per connection, TCP_NODELAY"],
    "Response metadata waits for the response.": [
        "warnings, custom_payload, ids of traces, all traces of a future that is not done; theirs raises, or has none",
        "ids of the traces of a request that was not traced: none; theirs TypeError",
    ],
    "Encoding errors are raised directly.": [
        "a batch that was filled past its limit by hand: ValueError; theirs NoHostAvailable",
    ],
    "An error ends a request, not its connection.": ["wait_for_response of a Connection raises and goes on"],
    "Errors of the object mapper name the rejected value.": [
        "values that a column cannot convert: ValidationError; theirs TypeError or OverflowError",
        "ValidationError of a model or user type: begins the same, names class and value, and elements",
        "Blob().to_database(None): None; theirs raises",
        "tuples with too many values: ValidationError; theirs TypeError",
        "DoesNotExist: of the module of its model, names the model and the conditions, can be pickled",
        "KeyError, IndexError and TypeError of instances and query sets: have a text",
        "ContextQuery: takes models only",
        "BatchQuery of models of several connections: refused; theirs sends all to one, if one of them is the default",
        "conditions on columns of another model: QueryException; theirs AttributeError",
    ],
    "The object mapper retries failed connections.": [
        "register_connection(retry_connect=True) and lazy connections that fail stay registered; set_session",
    ],
    "sync_table sends only real changes.": [
        "options that are changed, types of tuples, columns that were just added in the log, AlreadyExists",
        "KeyError of sync_type without a keyspace, AttributeError of drop_table without a model: CQLEngineException",
    ],
    "The object mapper writes only changed values.": [
        "moments before 1970: rounded down to milliseconds; theirs rounds up",
        "timestamps with a zone: are in that zone; theirs takes them for local ones",
        "operations of containers with nothing: nothing; theirs has the placeholder of the next clause",
        "clauses that change nothing: left out of a statement; theirs leaves a comma, or deletes the row",
        "updates of frozen containers: assign them whole; the server refuses theirs",
        "updates of subclasses of containers and counters: change in place; theirs assigns, also counters",
        "quotes in names: doubled",
        "user types that change in place: have changed; theirs does not see it in a column",
        "value managers of a program's own: made for programs that look at _values",
        "names of user types: of each class its own; theirs gives a name that was asked for to subclasses",
        "names of tables: of each model its own; theirs gives a name that was asked for to subclasses",
        "distinct(), values made null by update(): names in the table; theirs has names of attributes",
        "values made null, keys of maps removed: by the whole key and with the timestamp that was given",
        "defaults and values that were written: are known as such, and not written again",
        "loaded nulls: stay null in the instance when it is saved",
        "partition keys that cannot be serialized: the server says so; theirs AttributeError",
        "count() of a derived query set: counts its own rows; theirs tells the count of the one it is derived from",
        "query sets: can be compared; theirs recurses",
        "iff(): takes conditions made of columns, and items of containers",
    ],
}
