"""Tables of compatibility aliases: the attributes that public classes get, and the modules that define them (L0).

See ``lending.py``. A facade names the classes that a program finds through it; a class that two facades name gets its
aliases once.
"""

from __future__ import annotations

from typing import Any

from .lending import lend_attributes, lend_defaults

_SESSIONS, _POLICIES = "cassandra._compat.attributes", "cassandra._compat.attributes_of_policies"
_SCHEMA, _STATEMENTS = "cassandra._compat.attributes_of_schema", "cassandra._compat.attributes_of_statements"
_CONNECTIONS = "cassandra._compat.connection"

_ATTRIBUTES = {
    "Cluster": (_SESSIONS, """
        _config_mode _default_load_balancing_policy _default_retry_policy _is_setup _listeners _prepared_statements
        _user_types
    """),
    "ControlConnection": (_SESSIONS, "_connection"),
    "ResponseFuture": (_SESSIONS, """
        _col_names _col_types _connection _continuous_paging_session _current_host _event _host _load_balancer
        _protocol_handler _query_retries _query_traces _req_id _set_final_exception _set_final_result
        _spec_execution_plan _time_remaining
    """),
    "Session": (_SESSIONS, """
        _create_response_future _default_consistency_level _default_serial_consistency_level _default_timeout
        _load_balancer _lock _maybe_get_execution_profile _metrics _profile_manager _request_init_callbacks _row_factory
        execute_concurrent execute_concurrent_async execute_concurrent_with_args
    """),
    "Connection": (_CONNECTIONS, """
        CALLBACK_ERR_THREAD_THRESHOLD allow_beta_protocol_version authenticator compressor connect_timeout
        connected_event create_timer decompressor error_all_requests get_request_id handle_fork handle_pushed
        highest_request_id in_buffer_size initialize_reactor is_control_connection is_idle is_unsupported_proto_version
        lock max_in_flight max_request_id max_request_id_for msg_received no_compact original_endpoint
        orphaned_request_ids orphaned_threshold_for out_buffer_size request_ids reset_idle send_msg signaled_error
        sockopts ssl_context ssl_options supports_tls_session_resumption total_shards wait_for_responses
    """),
    "AsyncoreConnection": (_CONNECTIONS, "add_channel"),
    "HostConnection": (_CONNECTIONS, "_connections _keyspace"),
    "LoadBalancingPolicy": (_POLICIES, "_hosts_lock"),
    "RoundRobinPolicy": (_POLICIES, "_live_hosts _position"),
    "DCAwareRoundRobinPolicy": (_POLICIES, "_dc _dc_live_hosts _position"),
    "RackAwareRoundRobinPolicy": (_POLICIES, "_dc _dc_live_hosts _live_hosts _position _rack"),
    "Metadata": (_SCHEMA, """
        _drop_aggregate _drop_function _drop_keyspace _drop_table _drop_type _get_host_by_address _hosts _hosts_lock
        _update_aggregate _update_function _update_keyspace _update_table _update_type
    """),
    "KeyspaceMetadata": (_SCHEMA, """
        _add_table_metadata _add_view_metadata _consistency_mode _drop_table_metadata _exc_info
    """),
    "TableMetadata": (_SCHEMA, "_all_as_cql _exc_info _property_string"),
    "ColumnMetadata": (_SCHEMA, "_cass_type"),
    "Statement": (_STATEMENTS, """
        _del_routing_key _del_serial_consistency_level _get_routing_key _get_serial_consistency_level _key_parts_packed
        _set_routing_key _set_serial_consistency_level
    """),
    "PreparedStatement": (_STATEMENTS, "_result_metadata_and_id _routing_key_index_set"),
}  # fmt: skip

#: Attributes that every instance sets: None in the class, so that mocks made from the class have them.
_DEFAULTS = {
    "BatchStatement": "batch_type",
    "BoundStatement": "prepared_statement",
    "Connection": "endpoint",
    "HostConnection": "host host_distance is_shutdown",
    "PreparedStatement": "protocol_version query_id query_string",
    "QueryTrace": "trace_id",
    "Session": "cluster hosts session_id timestamp_generator",
    "TraceEvent": "datetime description source source_elapsed thread_name",
    "Encoder": "mapping",
    "UserAggregateDescriptor": "argument_types name",
    "UserFunctionDescriptor": "argument_types name",
}


def lend_to(*classes: type[Any]) -> None:
    """Add to each of *classes* the compatibility aliases and defaults that are listed here for its name."""
    for borrower in classes:
        name = borrower.__name__
        if name in _ATTRIBUTES:
            lend_attributes(borrower, *_ATTRIBUTES[name])
        if name in _DEFAULTS:
            lend_defaults(borrower, _DEFAULTS[name])
