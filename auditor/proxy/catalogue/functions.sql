-- PostgreSQL's functions about its catalogue, as macros over the relations of schema c. A macro is reached
-- under its name with cae_ before it, and only if functions.py lists it. DuckDB puts arguments into a macro's
-- text as they are written: every column in here has a name that no statement's columns have.

-- What grows is bounded before it grows: DuckDB makes the texts and lists of 2048 rows at once, beside its memory
-- limit, heeds no interrupt meanwhile, and computes constants of both branches of a CASE.
-- An argument stands in these once, for its text is what a macro repeats.
CREATE MACRO cae_short(x) AS list_extract(list_transform([x], lambda cae_e: CASE WHEN length(cae_e) > 1024
    THEN error('cae:54000:a text that others are made of may have 1024 characters at most') ELSE cae_e END), 1);
CREATE MACRO cae_tiny(x) AS list_extract(list_transform([x], lambda cae_e: CASE WHEN length(cae_e) > 16
    THEN error('cae:54000:a text that is put into others may have 16 characters at most') ELSE cae_e END), 1);
CREATE MACRO cae_near(a, b) AS CASE WHEN abs(b::BIGINT - a::BIGINT) <= 1000 THEN b::BIGINT
    ELSE error('cae:54000:a series may span 1000 at most') END;
CREATE MACRO cae_series(a, b) AS generate_series(a::BIGINT, cae_near(a, b)),
    (a, b, step) AS generate_series(a::BIGINT, cae_near(a, b), step::BIGINT);

CREATE MACRO cae_quote_ident(x) AS
    CASE WHEN regexp_full_match(x, '[a-z_][a-z0-9_$]*') AND NOT list_contains((SELECT list(cae_word) FROM c.cae_reserved), x)
         THEN x ELSE '"' || replace(cae_short(x), '"', '""') || '"' END;
CREATE MACRO cae_quote_literal(x) AS '''' || replace(cae_short(x::VARCHAR), '''', '''''') || '''';
CREATE MACRO cae_quote_nullable(x) AS coalesce('''' || replace(cae_short(x::VARCHAR), '''', '''''') || '''', 'NULL');

CREATE MACRO cae_format_type(kind, modifier) AS CASE WHEN kind IS NULL THEN NULL ELSE coalesce((
    SELECT cae_spelled || CASE
        WHEN modifier IS NULL OR modifier < 0 THEN ''
        WHEN cae_base = 'numeric' THEN
            '(' || ((modifier - 4) >> 16)::VARCHAR || ',' || ((modifier - 4) & 65535)::VARCHAR || ')'
        WHEN cae_base IN ('varchar', 'bpchar') AND modifier > 4 THEN '(' || (modifier - 4)::VARCHAR || ')'
        WHEN cae_base IN ('timestamp', 'timestamptz', 'time', 'timetz') THEN '(' || modifier::VARCHAR || ')'
        ELSE '' END || cae_ending || cae_brackets
    FROM c.cae_spellings WHERE cae_kind = kind), CASE WHEN kind = 0 THEN '-' ELSE '???' END) END;

-- Names of objects to OIDs, and back. A missing one ends the statement with the SQLSTATE behind "cae:".
CREATE MACRO cae_folded(x) AS CASE WHEN contains(x, '"') THEN x ELSE lower(trim(x)) END;
CREATE MACRO cae_to_regclass(x) AS
    (SELECT arg_min(cae_class, cae_rank) FROM c.cae_classes WHERE cae_class_name = cae_folded(x::VARCHAR));
CREATE MACRO cae_regclass(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce(
    TRY_CAST(x AS UINTEGER), cae_to_regclass(x), error('cae:42P01:relation "' || x || '" does not exist')) END;
CREATE MACRO cae_to_regtype(x) AS
    (SELECT min(cae_type) FROM c.cae_types WHERE cae_type_name = replace(replace(cae_folded(x::VARCHAR), '"', ''), 'pg_catalog.', ''));
CREATE MACRO cae_regtype(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce(
    TRY_CAST(x AS UINTEGER), cae_to_regtype(x), error('cae:42704:type "' || x || '" does not exist')) END;
CREATE MACRO cae_to_regproc(x) AS
    (SELECT min(cae_proc) FROM c.cae_procs WHERE cae_proc_name = replace(cae_folded(x::VARCHAR), 'pg_catalog.', ''));
CREATE MACRO cae_regproc(x) AS CASE WHEN x IS NULL THEN NULL WHEN x::VARCHAR = '-' THEN 0 ELSE coalesce(
    TRY_CAST(x AS UINTEGER), cae_to_regproc(x), error('cae:42883:function "' || x || '" does not exist')) END;
CREATE MACRO cae_to_regnamespace(x) AS
    (SELECT min(cae_space) FROM c.cae_spaces
     WHERE cae_space_name = CASE WHEN contains(x, '"') THEN replace(x, '"', '') ELSE lower(x) END);
CREATE MACRO cae_regnamespace(x) AS CASE WHEN x IS NULL THEN NULL ELSE coalesce(
    TRY_CAST(x AS UINTEGER), cae_to_regnamespace(x), error('cae:3F000:schema "' || x || '" does not exist')) END;
CREATE MACRO cae_regclass_text(o) AS CASE WHEN o = 0 THEN '-' ELSE
    coalesce((SELECT cae_shown FROM c.cae_shown_classes WHERE cae_shown_class = o), o::VARCHAR) END;
CREATE MACRO cae_regtype_text(o) AS CASE WHEN o = 0 THEN '-' ELSE
    coalesce((SELECT cae_spelled || cae_ending || cae_brackets FROM c.cae_spellings WHERE cae_kind = o), o::VARCHAR) END;
CREATE MACRO cae_regproc_text(o) AS CASE WHEN o = 0 THEN '-' ELSE
    coalesce((SELECT cae_proc_name FROM c.cae_procs WHERE cae_proc = o), o::VARCHAR) END;
CREATE MACRO cae_regnamespace_text(o) AS CASE WHEN o = 0 THEN '-' ELSE
    coalesce((SELECT cae_space_name FROM c.cae_spaces WHERE cae_space = o), o::VARCHAR) END;
CREATE MACRO cae_user_name(o, seen) AS CASE WHEN o IS NULL THEN NULL ELSE coalesce(
    (SELECT cae_role_name FROM c.cae_roles WHERE cae_role = o AND list_contains(seen, cae_role_name)),
    'unknown (OID=' || o::VARCHAR || ')') END;

CREATE MACRO cae_any_user_name(o) AS CASE WHEN o IS NULL THEN NULL ELSE coalesce(
    (SELECT cae_role_name FROM c.cae_roles WHERE cae_role = o), 'unknown (OID=' || o::VARCHAR || ')') END;

CREATE MACRO cae_pg_table_is_visible(o) AS
    (SELECT cae_visible FROM c.cae_shown_classes WHERE cae_shown_class = o);
CREATE MACRO cae_pg_table_is_listed(o) AS
    (SELECT cae_visible OR cae_shown_class >= 16384 FROM c.cae_shown_classes WHERE cae_shown_class = o);
CREATE MACRO cae_pg_type_is_visible(o) AS (SELECT true FROM c.cae_spellings WHERE cae_kind = o);
CREATE MACRO cae_pg_function_is_visible(o) AS (SELECT true FROM c.cae_procs WHERE cae_proc = o);
CREATE MACRO cae_always(o) AS CASE WHEN o IS NOT NULL THEN true END;
CREATE MACRO cae_pg_get_viewdef(o) AS (SELECT cae_definition FROM c.cae_definitions WHERE cae_defined = o),
    (o, pretty) AS (SELECT cae_definition FROM c.cae_definitions WHERE cae_defined = o);
CREATE MACRO cae_pg_relation_is_publishable(o) AS false;
CREATE MACRO cae_pg_encoding_to_char(o) AS CASE WHEN o IS NULL THEN NULL ELSE coalesce(list_extract([
    'SQL_ASCII', 'EUC_JP', 'EUC_CN', 'EUC_KR', 'EUC_TW', 'EUC_JIS_2004', 'UTF8', 'MULE_INTERNAL',
    'LATIN1', 'LATIN2', 'LATIN3', 'LATIN4', 'LATIN5', 'LATIN6', 'LATIN7', 'LATIN8', 'LATIN9',
    'LATIN10', 'WIN1256', 'WIN1258', 'WIN866', 'WIN874', 'KOI8R', 'WIN1251', 'WIN1252',
    'ISO_8859_5', 'ISO_8859_6', 'ISO_8859_7', 'ISO_8859_8', 'WIN1250', 'WIN1253', 'WIN1254',
    'WIN1255', 'WIN1257', 'KOI8U', 'SJIS', 'BIG5', 'GBK', 'UHC', 'GB18030', 'JOHAB',
    'SHIFT_JIS_2004'
    ], o::INTEGER + 1), '') END;
CREATE MACRO cae_pg_char_to_encoding(x) AS CASE WHEN upper(x) IN ('UTF8', 'UTF-8', 'UNICODE') THEN 6 ELSE -1 END;
CREATE MACRO cae_pg_size_pretty(x) AS x::VARCHAR || ' bytes';
CREATE MACRO cae_col_description(a, b) AS (SELECT min(cae_remark) FROM c.cae_remarks
    WHERE cae_remarked = a AND cae_place = b);
CREATE MACRO cae_obj_description(a) AS NULL::VARCHAR, (a, b) AS (SELECT min(cae_remark) FROM c.cae_remarks
    WHERE cae_remarked = a AND cae_place = 0 AND b = 'pg_class');
CREATE MACRO cae_no_text(a) AS NULL::VARCHAR, (a, b) AS NULL::VARCHAR, (a, b, d) AS NULL::VARCHAR;
CREATE MACRO cae_empty(a) AS CASE WHEN a IS NOT NULL THEN '' END;
CREATE MACRO cae_never(a) AS CASE WHEN a IS NOT NULL THEN false END, (a, b) AS false, (a, b, d) AS false;
CREATE MACRO cae_no_numbers(a) AS CASE WHEN a IS NOT NULL THEN []::INTEGER[] END;
CREATE MACRO cae_no_access(a, b) AS []::VARCHAR[];
-- Access is given to the owner and to everybody, one privilege in an entry.
CREATE MACRO cae_aclexplode(x) AS list_transform(x, lambda cae_e: {
    'grantor': 10::UINTEGER, 'grantee': CASE WHEN starts_with(cae_e, '=') THEN 0 ELSE 10 END::UINTEGER,
    'privilege_type': CASE list_extract(string_split(list_extract(string_split(cae_e, '='), 2), '/'), 1)
        WHEN 'r' THEN 'SELECT' WHEN 'U' THEN 'USAGE' WHEN 'c' THEN 'CONNECT' WHEN 'X' THEN 'EXECUTE' END,
    'is_grantable': false});
CREATE MACRO cae_no_number(a) AS NULL::BIGINT, (a, b) AS NULL::BIGINT;

-- What is the same in every session.
CREATE MACRO cae_encoding() AS 'UTF8';
CREATE MACRO cae_false() AS false;
CREATE MACRO cae_transaction() AS 1::BIGINT;
CREATE MACRO cae_no_transaction() AS NULL::BIGINT;
CREATE MACRO cae_no_position() AS NULL::VARCHAR;
CREATE MACRO cae_no_time() AS NULL::TIMESTAMPTZ;
CREATE MACRO cae_no_schema() AS 0::UINTEGER;
CREATE MACRO cae_unlocked() AS '';

-- What a user may do: read tables, use schemas and types, connect.
CREATE MACRO cae_may_select(a, b) AS contains(lower(b), 'select'), (u, a, b) AS contains(lower(b), 'select');
CREATE MACRO cae_may_select_column(a, b, d) AS contains(lower(d), 'select'),
    (u, a, b, d) AS contains(lower(d), 'select');
CREATE MACRO cae_may_use(a, b) AS contains(lower(b), 'usage'), (u, a, b) AS contains(lower(b), 'usage');
CREATE MACRO cae_may_connect(a, b) AS contains(lower(b), 'connect'), (u, a, b) AS contains(lower(b), 'connect');
CREATE MACRO cae_may_execute(a, b) AS contains(lower(b), 'execute'), (u, a, b) AS contains(lower(b), 'execute');

-- x = ANY (l), with PostgreSQL's NULLs.
CREATE MACRO cae_any(l, x) AS list_extract(list_transform([{'l': l, 'x': x}], lambda cae_e: CASE
    WHEN cae_e.l IS NULL THEN NULL WHEN len(cae_e.l) = 0 THEN false WHEN cae_e.x IS NULL THEN NULL
    WHEN list_contains(cae_e.l, cae_e.x) THEN true WHEN len(cae_e.l) <> list_count(cae_e.l) THEN NULL
    ELSE false END), 1);
CREATE MACRO cae_far(n) AS CASE WHEN n > 1024 THEN error('cae:54000:a text may be padded to 1024 characters') ELSE n::INTEGER END;
CREATE MACRO cae_lpad(x, n) AS lpad(cae_short(x), cae_far(n), ' '), (x, n, y) AS lpad(cae_short(x), cae_far(n), y);
CREATE MACRO cae_rpad(x, n) AS rpad(cae_short(x), cae_far(n), ' '), (x, n, y) AS rpad(cae_short(x), cae_far(n), y);
CREATE MACRO cae_initcap(x) AS array_to_string(list_transform(regexp_extract_all(cae_short(x), '[[:alnum:]]+|[^[:alnum:]]+'),
    lambda cae_e: upper(left(cae_e, 1)) || lower(substr(cae_e, 2))), '');
CREATE MACRO cae_string_to_array(x, y) AS string_split(cae_short(x), y),
    (x, y, z) AS list_transform(string_split(cae_short(x), y), lambda cae_e: nullif(cae_e, z));
CREATE MACRO cae_array_cat(x, y) AS list_concat(cae_short(x), cae_short(y));
CREATE MACRO cae_array_append(x, y) AS list_append(cae_short(x), y);
-- A value of any type that a row's text is made of.
CREATE MACRO cae_brief(x) AS list_extract(list_transform([x], lambda cae_e: CASE WHEN length(cae_e::VARCHAR) > 1024
    THEN error('cae:54000:a text that others are made of may have 1024 characters at most') ELSE cae_e END), 1);
CREATE MACRO cae_array_ndims(x) AS CASE WHEN len(x) > 0 THEN 1 END;
CREATE MACRO cae_age(a) AS 0::INTEGER, (a, b) AS age(a, b);
CREATE MACRO cae_setting(x) AS (SELECT cae_value FROM c.cae_settings WHERE cae_name = lower(x));
CREATE MACRO cae_array_remove(x, y) AS list_filter(x, lambda cae_e: cae_e IS DISTINCT FROM y);
CREATE MACRO cae_expanded(x) AS list_transform(x, lambda cae_e, cae_i: {'x': cae_e, 'n': cae_i::INTEGER});
CREATE MACRO cae_replace(x, y, z) AS replace(cae_short(x), y, cae_tiny(z));
CREATE MACRO cae_regexp_replace(x, y, z) AS regexp_replace(cae_short(x), y, cae_tiny(z)),
    (x, y, z, flags) AS regexp_replace(cae_short(x), y, cae_tiny(z), flags);
CREATE MACRO cae_array_upper(x, n) AS CASE WHEN n = 1 AND len(x) > 0 THEN len(x)::INTEGER END;
CREATE MACRO cae_array_lower(x, n) AS CASE WHEN n = 1 AND len(x) > 0 THEN 1 END;
CREATE MACRO cae_array_to_string(x, y) AS CASE WHEN x IS NULL THEN NULL ELSE
    coalesce(array_to_string(list_filter(x, lambda cae_e: cae_e IS NOT NULL), y), '') END;
CREATE MACRO cae_vector_text(x) AS
    CASE WHEN x IS NULL THEN NULL WHEN len(x) = 0 THEN '' ELSE array_to_string(x, ' ') END;
