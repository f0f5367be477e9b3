"""Which functions a statement about the catalogue may call, as tables: DuckDB's for each, and its type.

Promises that no other function is reached. `ABOUT` are PostgreSQL's functions about its catalogue and
session: a statement without tables that calls one of them is about the catalogue. `PLAIN` are functions of
values, which say nothing about whose a statement is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Function:
    """What stands for a function of PostgreSQL."""

    target: str
    """DuckDB's function or macro; empty: `translating` has a rule of its own for it."""
    type: str = ""
    """PostgreSQL's type of its result; empty: read off DuckDB's; "=": that of its first argument."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def _macros(kind: str, names: str) -> dict[str, Function]:
    return {name: Function(f"cae_{name}", kind) for name in names.split()}


def _all(target: str, kind: str, names: str) -> dict[str, Function]:
    return {name: Function(target, kind) for name in names.split()}


def _same(kind: str, names: str) -> dict[str, Function]:
    return {name: Function(name, kind) for name in names.split()}


SESSION = words("""
    version current_database current_catalog current_schema current_schemas current_user session_user user
    current_role pg_backend_pid current_setting set_config pg_get_userbyid pg_is_in_recovery inet_server_addr
    inet_server_port inet_client_addr inet_client_port pg_postmaster_start_time pg_conf_load_time txid_current
    pg_my_temp_schema pg_is_other_temp_schema pg_advisory_unlock_all getdatabaseencoding pg_get_keywords
    pg_is_wal_replay_paused pg_current_xact_id txid_current_if_assigned pg_current_xact_id_if_assigned
    pg_current_wal_lsn pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp
    pg_jit_available
""")
"""Functions whose values the session decides; `translating` writes them out."""

ABOUT: Mapping[str, Function] = {
    **{name: Function("") for name in SESSION},
    **_macros("text", "format_type pg_get_viewdef col_description quote_ident quote_literal quote_nullable"),
    **_macros("text", "obj_description"),
    "aclexplode": Function(""),
    "acldefault": Function("cae_no_access", "_text"),
    **_macros("name", "pg_encoding_to_char"),
    **_macros("text", "pg_size_pretty"),
    **_macros("int4", "pg_char_to_encoding"),
    **_macros("bool", "pg_table_is_visible pg_type_is_visible pg_function_is_visible"),
    **_macros("bool", "pg_relation_is_publishable"),
    **_macros("regclass", "to_regclass"),
    **_macros("regtype", "to_regtype"),
    **_macros("regproc", "to_regproc"),
    **_macros("regnamespace", "to_regnamespace"),
    **_all("cae_always", "bool", """
        pg_opclass_is_visible pg_opfamily_is_visible pg_operator_is_visible pg_conversion_is_visible
        pg_collation_is_visible pg_ts_config_is_visible pg_ts_dict_is_visible pg_ts_parser_is_visible
        pg_ts_template_is_visible pg_statistics_obj_is_visible
    """),
    **_all("cae_no_text", "text", """
        shobj_description pg_get_expr pg_get_constraintdef pg_get_indexdef pg_get_partkeydef
        pg_get_ruledef pg_get_triggerdef pg_get_statisticsobjdef pg_get_statisticsobjdef_columns
        pg_get_functiondef pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result
        pg_get_serial_sequence pg_get_partition_constraintdef pg_relation_filepath
        pg_get_statisticsobjdef_expressions pg_get_function_arg_default pg_get_function_sqlbody
        pg_describe_object pg_column_compression pg_stat_get_backend_activity
    """),
    "pg_tablespace_location": Function("cae_empty", "text"),
    **_all("cae_no_number", "int8", """
        pg_table_size pg_relation_size pg_total_relation_size pg_indexes_size pg_database_size
        pg_tablespace_size pg_stat_get_numscans pg_stat_get_tuples_inserted pg_stat_get_live_tuples
        pg_sequence_last_value pg_relation_filenode pg_stat_get_dead_tuples pg_stat_get_tuples_returned
        pg_stat_get_tuples_fetched pg_stat_get_tuples_updated pg_stat_get_tuples_deleted
        pg_stat_get_blocks_fetched pg_stat_get_blocks_hit pg_get_replica_identity_index pg_partition_root
        pg_column_size mxid_age
    """),
    **_all("cae_no_numbers", "_int4", "pg_blocking_pids pg_safe_snapshot_blocking_pids"),
    **_all("cae_never", "bool", """
        row_security_active pg_index_has_property pg_index_column_has_property pg_indexam_has_property
    """),
    **_all("cae_may_select", "bool", "has_table_privilege has_any_column_privilege has_sequence_privilege"),
    **_all("cae_may_select_column", "bool", "has_column_privilege"),
    **_all("cae_may_use", "bool", "has_schema_privilege has_type_privilege has_language_privilege"),
    **_all("cae_may_use", "bool", "has_tablespace_privilege has_server_privilege"),
    **_all("cae_may_use", "bool", "has_foreign_data_wrapper_privilege pg_has_role"),
    **{name: Function("") for name in words("""
        pg_show_all_settings pg_available_extensions pg_available_extension_versions pg_stat_get_activity
        pg_lock_status pg_cursor pg_prepared_statement pg_prepared_xact pg_timezone_names
        pg_timezone_abbrevs pg_stat_get_wal_senders pg_options_to_table pg_get_publication_tables
        pg_listening_channels pg_tablespace_databases pg_partition_tree pg_partition_ancestors
    """)},
    **_all("cae_may_connect", "bool", "has_database_privilege"),
    **_all("cae_may_execute", "bool", "has_function_privilege"),
}  # fmt: skip
PLAIN: Mapping[str, Function] = {
    **_same(
        "text",
        """
        lower upper substr left right  ltrim rtrim reverse split_part concat concat_ws
        string_agg md5 translate chr
    """,
    ),
    **_same(
        "=",
        "coalesce nullif greatest least min max first_value last_value lag lead abs",
    ),
    **_same("bool", "bool_and bool_or starts_with"),
    **_same("int8", "row_number rank dense_rank count"),
    **_same("int4", "length strpos ascii array_length"),
    **_same("", "sum floor ceil ceiling round trunc mod"),
    **_same("=", "any_value bit_and bit_or mode"),
    "_pg_expandarray": Function(""),
    "date_part": Function("date_part", "float8"),
    "date_trunc": Function("date_trunc"),
    "age": Function("cae_age"),
    "timezone": Function("timezone"),
    "initcap": Function("cae_initcap", "text"),
    "to_hex": Function("to_hex", "text"),
    "lpad": Function("cae_lpad", "text"),
    "rpad": Function("cae_rpad", "text"),
    "string_to_array": Function("cae_string_to_array", "_text"),
    "array_cat": Function("cae_array_cat", "="),
    "array_append": Function("cae_array_append", "="),
    "array_ndims": Function("cae_array_ndims", "int4"),
    "to_char": Function("", "text"),
    "format": Function("", "text"),
    "row_to_json": Function("", "json"),
    "array_remove": Function("cae_array_remove", "="),
    "btrim": Function("trim", "text"),
    "char_length": Function("length", "int4"),
    "character_length": Function("length", "int4"),
    "octet_length": Function("strlen", "int4"),
    "cardinality": Function("len", "int4"),
    "every": Function("bool_and", "bool"),
    "array_position": Function("list_position", "int4"),
    "array_upper": Function("cae_array_upper", "int4"),
    "array_lower": Function("cae_array_lower", "int4"),
    "array_to_string": Function("cae_array_to_string", "text"),
    "json_build_object": Function("json_object", "json"),
    "jsonb_build_object": Function("json_object", "jsonb"),
    "replace": Function("cae_replace", "text"),
    "regexp_replace": Function("cae_regexp_replace", "text"),
    "now": Function("now", "timestamptz"),
    "statement_timestamp": Function("now", "timestamptz"),
    "transaction_timestamp": Function("now", "timestamptz"),
    "clock_timestamp": Function("now", "timestamptz"),
    **{
        name: Function("")
        for name in ("array", "array_agg", "unnest", "generate_series", "generate_subscripts", "row", "all")
    },
}

DENIED = words("""
    pg_authid pg_shadow pg_statistic pg_statistic_ext_data pg_user_mapping pg_largeobject
    pg_hba_file_rules pg_ident_file_mappings pg_file_settings pg_config pg_backend_memory_contexts
    pg_shmem_allocations pg_replication_origin_status
""")
"""Relations that PostgreSQL shows to superusers only."""
