"""Security rules of the source: CQL is made of quoted parts, regexes are linear, one module makes TLS contexts.

``make lint`` runs it. Each rule is a function of a parsed file; ``REVIEWED`` lists have code that a rule cannot see
to be right, with the reason. An entry that is not needed any more is an error, and each rule is shown a bad file.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.regexes import WHOLE, problems

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "cassandra"
#: The simulated cluster is a server, for tests.
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if "testing" not in path.relative_to(PACKAGE).parts)

Finding = tuple[str, str]  # the problem, and the source of the expression


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def called(node: ast.expr) -> str:
    """The name of a called function, without the object that it is an attribute of."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


# ---- CQL

BEGINS = re.compile(
    r"\s*(SELECT|INSERT INTO|UPDATE|DELETE|USE|CREATE|ALTER|DROP|GRANT|REVOKE|TRUNCATE|BEGIN|APPLY|RESTRICT|"
    r"WHERE|FROM|SET|VALUES|USING|TTL|TIMESTAMP|LIMIT|PER PARTITION|ORDER BY|AND|IF|WITH|PRIMARY KEY|CLUSTERING|"
    r"LANGUAGE|RETURNS|AS|SFUNC|STYPE|FINALFUNC|INITCOND|MASKED|MONOTONIC)\s"
)
WITHIN = re.compile(r"\s(FROM|WHERE|VALUES|SET|USING|ORDER BY|LIMIT|WITH|AND|ADD|PRIMARY KEY)\s")
#: Text that consists of quotes and separators only: a literal that is made by hand.
BY_HAND = re.compile(r"[\s:,=(){}\[\]]*'[\s:,='(){}\[\]]*")

QUOTING = {
    "cql_encode_all_types",
    "cql_quote",
    "escape_name",
    "integer_literal",
    "map_literal",
    "maybe_escape_name",
    "name_as_described",
    "protect_name",
    "protect_names",
    "protect_value",
    "quote_text",
}
#: Functions, methods and attributes that return CQL, made of quoted parts by functions under the same rule.
BUILDERS = {
    "_block",
    "_body_literal",
    "_end",
    "_get_conditionals",
    "_index_target",
    "_names",
    "_primary_key",
    "_qualified_name",
    "_selected",
    "_without_frozen",
    "_timestamp",
    "_using",
    "_where",
    "_with_clause",
    "as_cql_query",
    "clustering_order",
    "column_family_name",
    "cql",
    "cql_type",
    "db_type",
    "export_for_schema",
    "full_name",
    "get_column_def",
    "get_cql",
    "option_strings",
    "_make_option_strings",
    "placeholder",
    "quoted",
    "text_of",
}

#: (file, expression) of text that is CQL for another reason.
REVIEWED_CQL: dict[tuple[str, str], str] = {
    ("cassandra/_base/versions.py", "stmt"): "a statement of the driver",
    ("cassandra/_bulk/writer.py", "self._table.name"): "quoted by Table",
    ("cassandra/_bulk/differing.py", "table.name"): "quoted by Table",
    ("cassandra/_bulk/waiting.py", "table.name"): "quoted by Table",
    ("cassandra/_mapper/columns.py", "value"): "text of an error, not CQL",
    ("cassandra/_mapper/writing.py", "kind"): "one of KINDS, which is checked before",
    (
        "cassandra/_mapper/schema.py",
        "', '.join(['(' + ', '.join(partition) + ')', *clustering])",
    ): "text of an error, not CQL",
    ("cassandra/_mapper/statements.py", "', '.join(self.order_by)"): "CQL by contract; query sets quote the names",
    ("cassandra/_mapper/statements.py", "self.table"): "CQL by contract; column_family_name() quotes it",
    ("cassandra/_routing/schema/ddl.py", "aggregate.initial_condition"): "a literal of the server",
    ("cassandra/_routing/schema/ddl.py", "before"): "a separator",
    ("cassandra/_routing/schema/ddl.py", "column.mask"): "made by masks.py of quoted parts",
    ("cassandra/_routing/schema/ddl.py", "durable"): "true or false",
    ("cassandra/_routing/schema/ddl.py", "language"): "a word, or quoted",
    ("cassandra/_routing/schema/ddl.py", "query"): "made of quoted parts above",
    ("cassandra/_routing/schema/ddl.py", "target"): "CQL of the server: a name, or keys(name)",
    ("cassandra/_routing/schema/ddl.py", "text"): "made of quoted parts above",
    ("cassandra/_routing/schema/ddl.py", "view.where_clause"): "CQL of the server",
    ("cassandra/_routing/schema/rows.py", "cql"): "made above of names of system tables",
    ("cassandra/_routing/schema/rows.py", "kind"): "function or aggregate",
    ("cassandra/_routing/schema/rows.py", "part"): "a name of a system table, of the lists above",
    ("cassandra/_routing/schema/rows.py", "columns"): "names of columns of system tables, of the table above",
    ("cassandra/_routing/schema/rows.py", "where"): "made by the caller of quoted parts",
    ("cassandra/_ingest/target.py", "name"): "quoted by the property that it is the text of",
    ("cassandra/_scan/select.py", "condition.per_partition"): "a number or marker of the program's own where=",
}


def cql_findings(tree: ast.AST) -> Iterator[Finding]:
    """Expressions in CQL texts that are not known to be quoted."""
    for scope in scopes(tree):
        nodes = list(own_nodes(scope))
        parts = [part for node in nodes for text, parts in texts(node) if looks_like_cql(text) for part in parts]
        safe = safe_names(nodes) if parts else {}
        for part in parts:
            if not is_safe(part, safe):
                yield "not quoted in CQL", ast.unparse(part)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node.func) == "replace":
            values = [one.value for one in node.args if isinstance(one, ast.Constant)]
            if values[-2:] in (["'", "''"], ['"', '""']):
                yield "quotes are doubled by hand", ast.unparse(node)


def looks_like_cql(text: str) -> bool:
    within = text[:1].isupper() and WITHIN.search(text)
    return bool(BEGINS.match(text) or within or BY_HAND.fullmatch(text))


def scopes(tree: ast.AST) -> Iterator[ast.AST]:
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Nodes of *scope* that are in no function within it, but for lambdas and comprehensions."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, (ast.Raise, ast.Assert)) or is_message(node):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def is_message(node: ast.AST) -> bool:
    """Whether *node* says something to people: errors, logs, warnings."""
    if not isinstance(node, ast.Call):
        return False
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    name = called(node.func)
    return (isinstance(owner, ast.Name) and owner.id in ("log", "warnings")) or name.endswith(("Error", "Exception"))


def texts(node: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """The constant text of an expression that makes text, with a mark at each place of another, and these others."""
    if isinstance(node, ast.JoinedStr):
        yield joined(node.values)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        left = constant(node.left)
        if left is not None:
            right = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            yield left, [one for one in right if constant(one) is None]
    elif isinstance(node, ast.Call) and called(node.func) == "format" and isinstance(node.func, ast.Attribute):
        text = constant(node.func.value)
        if text is not None:
            given = [one.value if isinstance(one, ast.Starred) else one for one in node.args]
            yield text, [*given, *(one.value for one in node.keywords)]


def joined(values: Iterable[ast.expr]) -> tuple[str, list[ast.expr]]:
    text, parts = "", []
    for value in values:
        if isinstance(value, ast.FormattedValue):
            parts.append(value.value)
        elif isinstance(value, ast.Constant):
            text += str(value.value)
    return text, parts


def constant(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_safe(node: ast.expr, safe: Mapping[str, bool]) -> bool:
    """Whether *node* is CQL made of quoted parts."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        return safe.get(node.id, False)
    if isinstance(node, ast.Attribute):
        return node.attr in BUILDERS
    if isinstance(node, ast.Call):
        if called(node.func) == "join":
            return all(is_safe_iterable(one, safe) for one in node.args)
        if called(node.func) in ("int", "len"):
            return True
        return called(node.func) in QUOTING | BUILDERS
    if isinstance(node, ast.IfExp):
        return is_safe(node.body, safe) and is_safe(node.orelse, safe)
    if isinstance(node, ast.BoolOp):
        return all(is_safe(one, safe) for one in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
        return is_safe(node.left, safe) and (isinstance(node.op, ast.Mult) or is_safe(node.right, safe))
    if isinstance(node, ast.JoinedStr):
        return all(is_safe(one.value, safe) for one in node.values if isinstance(one, ast.FormattedValue))
    if isinstance(node, (ast.List, ast.Tuple)):
        return is_safe_iterable(node, safe)
    if isinstance(node, ast.Subscript):
        return is_safe(node.value, safe)
    return False


def is_safe_iterable(node: ast.expr, safe: Mapping[str, bool]) -> bool:
    if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
        inner = dict(safe)
        for loop in node.generators:
            for name in ast.walk(loop.target):
                if isinstance(name, ast.Name):
                    inner[name.id] = is_safe_iterable(loop.iter, safe)
        return is_safe(node.elt, inner)
    if isinstance(node, ast.Call) and called(node.func) == "map":
        return called(node.args[0]) in QUOTING | BUILDERS
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(
            is_safe_iterable(one.value, safe) if isinstance(one, ast.Starred) else is_safe(one, safe)
            for one in node.elts
        )
    return is_safe(node, safe)


def safe_names(nodes: Iterable[ast.AST]) -> dict[str, bool]:
    """Local names of a scope with these *nodes*, with whether all that is assigned to them is safe."""
    assigned: dict[str, list[ast.expr]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    assigned[target.id].append(node.value)
        elif isinstance(node, ast.Call) and called(node.func) == "append" and isinstance(node.func, ast.Attribute):
            assigned[called(node.func.value)] += node.args
    safe: dict[str, bool] = {}
    for _ in range(3):  # of names that are assigned to others
        safe = {
            name: all(is_safe(value, safe) or is_safe_iterable(value, safe) for value in values)
            for name, values in assigned.items()
        }
    return safe


# ---- regular expressions

SEARCHING = {"search", "findall", "finditer", "sub", "subn", "split"}

#: (file, pattern) of those that are fast enough for a reason that their structure does not show.
REVIEWED_REGEXES: dict[tuple[str, str], str] = {
    ("cassandra/_base/datastax_values.py", "pattern"): "one of the constants above; text of the program",
    (
        "cassandra/_bulk/connecting.py",
        r"""\s*(?:"((?:[^"]|"")+)"|([^",\s][^",]*?))\s*(?=,|$)""",
    ): "a list of columns of the command line",
    (
        "cassandra/_bulk/texts_out.py",
        r"(\d+)(mo|ms|us|µs|μs|ns|[ywdhms])",
    ): "the ways on are two spellings of one unit, which end there",
    (
        "cassandra/_bulk/texts_in.py",
        r"(?:[^,\[\](){}:]|:(?!\s))*(?=:)",
    ): "matched at one place after the other",
    (
        "cassandra/_bulk/loading.py",
        r"\A(column '.*?' \(.*?\)), row \d+: ",
    ): "an error text of the driver; anchored, so that it is tried once",
    (
        "cassandra/_bulk/texts_in.py",
        r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|nan|(inf|infinity))",
    ): "a cell of a file that the program loads",
    **{
        ("cassandra/_bulk/csv_scan.py", source): "a file that the program loads; made of three marks of one byte"
        for source in (
            r"b'(%b)(%b|[\\r\\n]+|\\Z)' % (field, delimiter)",
            "cells",
            "field",
            r"fields + b'(?:\\r\\n?|\\n|\\Z)'",
            r"fields + b'(?:\\r\\n|\\n|\\r(?!\\Z))'",
        )
    },
    **{
        ("cassandra/_ingest/values.py", source): "matched as a whole; digits follow each other only in a number of them"
        for source in (
            r"f'{_DATE}(?:[T ]{_TIME}(?: ?(?:{_ZONE}))?)?'",
            r"f'{_DECIMAL.pattern}|[+-]?(nan|inf|infinity)'",
        )
    },
    (
        "cassandra/_routing/schema/ddl.py",
        r"""\bfrozen<|"(?:[^"]|"")*"|'(?:[^']|'')*'|.""",
    ): "a quote that begins nothing is followed by no other one",
    (
        "cassandra/_session/request/execution.py",
        r"(?:\s|--[^\n]*\n|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*USE\b",
    ): "the assertion decides between the end of a comment and a star within",
    **{
        ("cassandra/_session/telemetry.py", source): "a statement of the program; matched at its beginning only"
        for source in (
            r"f'(?P<verb>SELECT|DELETE)\\b.*?\\bFROM\\s+{_TARGET}'",
            r"f'(?P<verb>USE)\\s+(?P<name>{_NAME})'",
            r"f'(?:(?P<verb>INSERT)\\s+INTO|(?P<update>UPDATE)|(?P<truncate>TRUNCATE)(?:\\s+(?:TABLE|COLUMNFAMILY)\\b)?)"
            r"\\s+{_TARGET}'",
            r"f'(?P<verb>(?:CREATE|ALTER|DROP)(?:\\s+OR\\s+REPLACE)?\\s+(?P<kind>{_KINDS}))\\b"
            r"(?:\\s+IF\\s+(?:NOT\\s+)?EXISTS\\b)?(?:\\s+{_TARGET})?'",
        )
    },
    (
        "cassandra/_session/request/result.py",
        r"^\s*BEGIN\s+[a-zA-Z]*\s*BATCH",
    ): "a statement of the program; a public attribute, as scylla-driver has it",
    (
        "cassandra/_scan/select.py",
        r"(?P<space>\s+|--[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)|(?P<text>'(?:[^']|'')*'|\$\$.*?\$\$)"
        r'|(?P<quoted>"(?:[^"]|"")*")|(?P<word>[A-Za-z_]\w*)|(?P<marker>\?|:\s*(?:\w+|\"(?:[^\"]|\"\")+\"))'
        r"|(?P<other><=|>=|!=|[0-9][\w.]*|.)",
    ): "conditions of the program; the assertion decides between the end of a comment and a star within",
    (
        "cassandra/_wire/markers.py",
        r"""
        (?P<space>\s+|--[^\n\r]*|//[^\n\r]*|/\*(?:[^*]|\*(?!/))*\*/)
      | (?P<string>'(?:[^']|'')*'|\$\$(?:[^$]|\$(?!\$))*\$\$)
      | (?P<quoted>"(?:[^"]|"")+")
      | (?P<open>/\*|'|"|\$\$)
      | (?P<uuid>[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})
      | (?P<blob>0[xX][0-9a-fA-F]*)
      | (?P<number>\d+(?:\.(?!\.)\d*)?(?:[eE][+-]?\d+)?\w*)
      | (?P<duration>[pP](?:\d+-\d+-\d+[tT]\d+:\d+:\d+|(?:\d+[ymwdYMWD])+(?:[tT](?:\d+[hmsHMS])+)?
        |[tT](?:\d+[hmsHMS])+)(?!\w))
      | (?P<word>[a-zA-Z]\w*)
      | (?P<sign>\.\.|<=|>=|!=|\+=|-=|[-+*/%=<>(){}\[\],.;:?])
        """,
    ): "a statement of the program; the assertion decides within comments, and a number that has begun always matches",
    (
        "cassandra/_wire/types/parser.py",
        r""""((?:[^"]|"")+)"|'([^']+)'|([a-zA-Z0-9_]+)""".replace("'", r"\'"),
    ): "a quote that begins nothing is followed by no other one",
    (
        "cassandra/_wire/types/parser.py",
        r"""[<>,]|"(?:[^"]|"")+"|'[^']+'|[^<>,\s]+""",
    ): "a quote that begins nothing is followed by no other one, and is taken by the last part",
    ("cassandra/_wire/types/parser.py", r"\s*(=>|[(),:]|[^(),:=>\s]+)"): "matched at one place after the other",
}


def regex_findings(tree: ast.Module) -> Iterator[Finding]:
    """Patterns that may need more than linear time, or that are made when the program runs."""
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        owner, method = node.func.value, node.func.attr
        if not (isinstance(owner, ast.Name) and owner.id == "re" and method in SEARCHING | WHOLE | {"compile"}):
            continue
        given = node.args[0]
        if isinstance(given, ast.Name):
            given = constants.get(given.id, given)
        if not isinstance(given, ast.Constant):
            yield "made when the program runs", ast.unparse(node.args[0])
            continue
        searching = method in SEARCHING or (method == "compile" and not is_only_matched(tree, node))
        for problem in problems(given.value, flags_of(node), searching):
            yield problem, str(given.value)


def flags_of(node: ast.Call) -> int:
    found = 0
    for argument in [*node.args[1:], *(one.value for one in node.keywords if one.arg == "flags")]:
        for part in ast.walk(argument):
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "re":
                found |= int(getattr(re, part.attr))
    return found


def is_only_matched(tree: ast.Module, compiled: ast.Call) -> bool:
    """Whether the compiled pattern is assigned to a name of which nothing but ``match`` and ``fullmatch`` is used."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(part is compiled for part in ast.walk(node.value)):
            names = {called(target) for target in node.targets} - {""}
            uses = {
                use.attr
                for use in ast.walk(tree)
                if isinstance(use, ast.Attribute) and called(use.value) in names and use.attr not in names
            }
            return bool(uses) and uses <= WHOLE
    return False


# ---- TLS

CONTEXTS = "cassandra/_net/tls.py"
MAKES = {"SSLContext", "create_default_context", "_create_default_https_context", "_create_unverified_context",
         "_create_stdlib_context", "wrap_socket", "get_server_certificate"}  # fmt: skip
CHANGES = {"check_hostname", "verify_mode", "verify_flags", "minimum_version", "maximum_version", "options"}
LOADS = {"load_default_certs", "load_verify_locations", "load_cert_chain", "set_ciphers", "set_default_verify_paths"}

#: (file, expression) outside of the module of contexts.
REVIEWED_TLS: dict[tuple[str, str], str] = {}


def tls_findings(tree: ast.AST) -> Iterator[Finding]:
    """Contexts that are made or changed."""
    uses_tls = any(
        isinstance(node, (ast.Import, ast.ImportFrom))
        and "ssl" in [getattr(node, "module", None), *(one.name for one in node.names)]
        for node in ast.walk(tree)
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "ssl":
            yield "ssl is imported by parts", ast.unparse(node)
        elif isinstance(node, ast.Call):
            if called(node.func) in MAKES | LOADS:
                yield "a context is made or changed", ast.unparse(node.func)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and uses_tls:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Attribute) and target.attr in CHANGES and called(target.value) != "self":
                    yield "a context is changed", ast.unparse(target)


# ---- the rules on the source

RULES: dict[str, tuple[Any, Mapping[tuple[str, str], str]]] = {
    "cql": (cql_findings, REVIEWED_CQL),
    "regexes": (regex_findings, REVIEWED_REGEXES),
    "tls": (tls_findings, REVIEWED_TLS),
}
EXEMPT = {
    "cql": {"cassandra/_base/names.py", "cassandra/_bulk/texts_out.py"},  # the quoting; cells of files, no CQL
    "regexes": set[str](),
    "tls": {CONTEXTS},
}


@cache
def found(rule: str) -> set[tuple[str, str, str]]:
    """File, expression and problem of all that *rule* finds."""
    findings = RULES[rule][0]
    files = [path for path in SOURCES if name_of(path) not in EXEMPT[rule]]
    return {(name_of(path), source, problem) for path in files for problem, source in findings(parsed(path))}


@pytest.mark.parametrize("rule", RULES)
def test_the_source_keeps_the_rule(rule: str) -> None:
    reviewed = RULES[rule][1]
    wrong = [f"{file}: {problem}: {source}" for file, source, problem in found(rule) if (file, source) not in reviewed]
    assert not wrong, "\n".join(["quote it, or review it and say why it is right:", *sorted(wrong)])


@pytest.mark.parametrize("rule", RULES)
def test_nothing_is_reviewed_that_is_not_there(rule: str) -> None:
    there = {(file, source) for file, source, _ in found(rule)}
    assert [entry for entry in RULES[rule][1] if entry not in there] == []
    assert all(RULES[rule][1].values())


# ---- each rule can fail

BAD_CQL = {
    "f-string": """def f(s, name):
    s.execute(f"DROP TABLE {name}")""",
    "fragment": """def f(limit):
    return f"LIMIT {limit}" """,
    "percent": """def f(name):
    return "SELECT * FROM %s" % name""",
    "percent with a tuple": """def f(a, b):
    return "SELECT %s FROM %s" % (escape_name(a), b)""",
    "sum": """def f(name):
    return "USE " + name""",
    "format": """def f(name):
    return "ALTER TABLE {} ADD x int".format(name)""",
    "star of format": """def f(names):
    return "SELECT {} FROM {}".format(*names)""",
    "join": """def f(names):
    return f"SELECT {', '.join(names)} FROM t" """,
    "join of a generator": """def f(names):
    return f"SELECT {', '.join(n for n in names)} FROM t" """,
    "a name for it": """def f(name):
    text = name
    return f"DELETE FROM {text}" """,
    "one of two": """def f(name, quoted):
    text = escape_name(name)
    if quoted:
        text = name
    return f"TRUNCATE {text}" """,
    "a literal by hand": """def f(value):
    return f"'{value}'" """,
    "a map by hand": """def f(pairs):
    return ", ".join(f"'{key}': '{value}'" for key, value in pairs)""",
    "quotes by hand": """def f(name):
    return name.replace('"', '""')""",
}
GOOD_CQL = """
def f(session, keyspace, names, value, limit):
    where = " AND ".join(f"{escape_name(name)} = ?" for name in names)
    columns = ", ".join(map(maybe_escape_name, names))
    table = f"{protect_name(keyspace)}.{protect_name(names[0])}"
    text = f"SELECT {columns} FROM {table} WHERE {where}"
    if limit:
        text += f" LIMIT {integer_literal(limit, 'limit')}"
    session.execute(text)
    session.execute("SELECT * FROM t WHERE name = %s", (value,))
    raise ValueError(f"DROP TABLE {value} is refused")
"""
BAD_REGEXES = {
    "nested": (r"(a+)+b", "match"),
    "nested groups": (r"(?:\w+\s?)+x", "match"),
    "side by side": (r"\d*\d*x", "match"),
    "a number in front": (r"\d+/v", "search"),
    "anything in front": (r".*x", "findall"),
}
BAD_TLS = {
    "a context": "import ssl\ncontext = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)",
    "a default context": "import ssl\ncontext = ssl.create_default_context()",
    "an unverified context": "import ssl\ncontext = ssl._create_unverified_context()",
    "a name of its own": "from ssl import SSLContext",
    "no names": "import ssl\ndef f(context):\n    context.check_hostname = False",
    "no verification": "import ssl\ndef f(context):\n    context.verify_mode = ssl.CERT_NONE",
    "other authorities": "import ssl\ndef f(context):\n    context.load_default_certs()",
    "a socket": "import ssl\ndef f(sock):\n    return ssl.wrap_socket(sock)",
}


@pytest.mark.parametrize("case", BAD_CQL)
def test_cql_rule_finds(case: str) -> None:
    assert list(cql_findings(ast.parse(BAD_CQL[case])))


def test_cql_rule_passes_quoted_parts() -> None:
    assert list(cql_findings(ast.parse(GOOD_CQL))) == []


@pytest.mark.parametrize("case", BAD_REGEXES)
def test_regex_rule_finds(case: str) -> None:
    pattern, method = BAD_REGEXES[case]
    source = f"import re\nre.{method}({pattern!r}, text)"
    assert list(regex_findings(ast.parse(source)))
    assert list(regex_findings(ast.parse(f"import re\n_X = re.compile({pattern!r})\n_X.{method}(text)")))


def test_regex_rule_needs_a_constant() -> None:
    assert list(regex_findings(ast.parse("import re\ndef f(word):\n    return re.search(word + '+', text)")))


@pytest.mark.parametrize(
    ("pattern", "searching"),
    [
        (r"[a-z][a-z0-9_]*\Z", False),
        (r'"(?:[^"]|"")+"', False),
        (r"%\((\w+)\)s", True),
        (r"\d+", True),
        (r"\d{1,9}/v\d{1,9}", True),
        (r"(?:(?:ab)*c)*d", False),
    ],
)
def test_regex_rule_passes_linear_patterns(pattern: str, searching: bool) -> None:
    assert problems(pattern, 0, searching) == []


@pytest.mark.parametrize("case", BAD_TLS)
def test_tls_rule_finds(case: str) -> None:
    assert list(tls_findings(ast.parse(BAD_TLS[case])))


def test_tls_rule_passes_functions_given_a_context() -> None:
    source = "import ssl\ndef f(context: ssl.SSLContext):\n    return context.wrap_bio(i, o), context.check_hostname"
    assert list(tls_findings(ast.parse(source))) == []
