"""An as-of read as one select in another SQL dialect, over a table of the caller's own: the compiled models, put together and translated.

Nothing is written anew: the models are those that dbt compiles, sqlglot drops what the chosen columns do not need and writes the rest. Where
a dialect has no form for a part, that part is named and nothing is written (rule T3, T4).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import UnsupportedError
from sqlglot.optimizer.eliminate_ctes import eliminate_ctes
from sqlglot.optimizer.eliminate_joins import eliminate_joins
from sqlglot.optimizer.pushdown_projections import pushdown_projections
from sqlglot.optimizer.qualify import qualify
from sqlglot.transforms import eliminate_semi_and_anti_joins

from governed_memory.errors import InputError, did_you_mean
from governed_memory.reads.transpile_terms import ASSUMPTIONS, READS
from governed_memory.warehouse import literal
from governed_memory.warehouse.models import columns, compiled

# The caller's table: {column: (role in record_rows, type)}.
TWELVE = {
    "record_id": ("record_id", "varchar"),
    "concept": ("concept_id", "varchar"),
    "value": ("value", "varchar"),
    "valid_from": ("valid_from", "date"),
    "valid_to": ("valid_to", "date"),
    "source": ("source_id", "varchar"),
    "concept_owner": ("concept_owner", "varchar"),
    "owner_role": ("owner_role", "varchar"),
    "applies_to": ("applies_to", "varchar[]"),
    "does_not_apply_to": ("does_not_apply_to", "varchar[]"),
    "release_to": ("release_to", "varchar[]"),
    "supersedes": ("supersedes", "varchar[]"),
}
GIVEN_BACK = ("record_id", "concept_id", "value", "in_force_from", "in_force_to", *(role for role, _ in list(TWELVE.values())[3:]))
# Parts with the same meaning everywhere; of the others, what a dialect has been run with.
PORTABLE: tuple[type, ...] = (exp.And, exp.Or, exp.Cast, exp.Coalesce, exp.If, exp.Case, exp.Min, exp.Max, exp.Count, exp.RowNumber, exp.Nullif, exp.Exists)
RUN: dict[str, tuple[type, ...]] = {
    "postgres": (exp.Least, exp.Explode, exp.Unnest, exp.ArrayContains, exp.ArrayContainsAll, exp.Array, exp.Normalize),
}
CARDINALITY = "CARDINALITY"
NAME = re.compile(r"""(?:\w+|"[^"]+"|`[^`]+`)(?:[.](?:\w+|"[^"]+"|`[^`]+`)){0,2}""")


@dataclass(frozen=True, slots=True)
class Translated:
    """The select, and the parts for which the dialect has no form; where there are any, `sql` is empty."""

    sql: str
    unsupported: tuple[str, ...]


def transpile(read: str, dialect: str, *, table: str, on_date: str = "", assume: Collection[str] = ()) -> Translated:
    """One as-of read over a table, as a select in a dialect.

    Args:
        read: a key of READS.
        dialect: as sqlglot calls it.
        table: the caller's table, perhaps with its schema: the twelve columns for `own`, record_intervals_built for `built`.
        on_date: yyyy-mm-dd; for an as-of read.
        assume: keys of ASSUMPTIONS.

    Raises:
        InputError: there is no such dialect, or the table's name cannot be read.
    """
    if dialect not in Dialect.classes:
        raise InputError(
            f"there is no dialect {dialect!r}; {did_you_mean(dialect, Dialect.classes) or 'give one of ' + ', '.join(sorted(filter(None, Dialect.classes)))}"
        )
    model, kind = READS[read]
    if not NAME.fullmatch(table):
        raise InputError(f"{table!r} is no name of a table; write it as the database does, perhaps with its schema")
    named = exp.to_table(table, dialect=dialect)
    tree = _together(model, kind, on_date, assume)
    for found in list(tree.find_all(exp.Table)):
        if found.name == CALLER:
            found.replace(exp.alias_(named.copy(), CALLER, table=True))
    return _write(tree, dialect)


CALLER = "callers_table"
PREFIX = "gm_"


def _together(model: str, kind: str, on_date: str, assume: Collection[str]) -> exp.Expr:
    by_name = {entry["name"]: entry for entry in compiled()["models"]}
    given = _given(kind)
    wanted: list[str] = []
    _collect("record_intervals_built" if model == "records_as_of" else model, by_name, given, wanted)
    first = _parsed(by_name[model]["sql"].split("\n;\n")[0]) if model == "records_as_of" else sqlglot.parse_one(f"select * from {PREFIX}{model}", read="duckdb")
    for column in list(first.find_all(exp.Column)):
        if column.name == "on_date":
            column.replace(exp.Literal.string(on_date))
    tree = exp.select(*GIVEN_BACK).from_(first.subquery("answer") if isinstance(first, exp.Query) else first)
    for name in wanted:
        body = _parsed(given[name]) if name in given else _own(name, by_name[name]["sql"], assume)
        tree = tree.with_(f"{PREFIX}{name}", as_=body, copy=False)
    return _pruned(tree, {CALLER: {name: type_ for name, (_, type_) in TWELVE.items()} if kind == "own" else columns("record_intervals_built")})


def _given(kind: str) -> dict[str, str]:
    """What stands for the models that read stores and registers: SQL over the caller's table, and nothing for registers."""
    if kind == "built":
        return {"record_intervals_built": f"select * from {CALLER}"}
    roles = {role: name for name, (role, _) in TWELVE.items()}
    # Copies are compared by their value, of which the hash is only a short form; an empty end is open (T1).
    roles |= {"value_hash": "value", "store_id": "''", "record_index": "row_number() over (order by record_id)"}
    roles |= {"is_valid_to_stated": "true", "is_valid_from_stated": "valid_from is not null"}
    return {
        "record_rows": _select("record_rows", roles, f"from {CALLER}"),
        "record_ledger": _select("record_ledger", {}, "where false"),
        "concept_ownerships": _select("concept_ownerships", {}, "where false"),
        "stores": _select("stores", {"store_id": "''", "attests_writers": "false"}, ""),
    }


def _select(model: str, values: dict[str, str], rest: str) -> str:
    return "select " + ", ".join(f"{values.get(name, f'cast(null as {type_})')} as {name}" for name, type_ in columns(model).items()) + f" {rest}"


def _collect(name: str, by_name: dict[str, dict[str, Any]], given: dict[str, str], wanted: list[str]) -> None:
    """The models that one reads, each after what it reads itself."""
    if name in wanted:
        return
    for parent in by_name[name]["reads"] if name not in given else ():
        _collect(parent, by_name, given, wanted)
    wanted.append(name)


def _parsed(sql: str) -> exp.Expr:
    """A query in which every model is the clause that holds it."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    for table in list(tree.find_all(exp.Table)):
        if table.db == "main":
            table.replace(exp.alias_(exp.to_table(PREFIX + table.name), table.alias_or_name, table=True))
    return tree


def _own(model: str, sql: str, assume: Collection[str]) -> exp.Expr:
    """A model in which the names of its clauses are no other model's, and without what cannot arise in the caller's table."""
    tree = _parsed(sql)
    if model == "int_ineffective_supersessions":
        # Twelve columns attest no writer, so nothing is unauthorized (T8).
        _empty(tree, "unauthorized", "select store_id, successor_index, predecessor_id, predecessor_index from known_edges where false")
        if "no-cycles" in assume:
            _empty(tree, "on_cycles", "select store_id, successor_index, predecessor_id, predecessor_index, test from failed where false")
    if model == "int_shared_ids" and "ids-in-nfc" in assume:
        for call in list(tree.find_all(exp.Anonymous)):
            if call.name.lower() == "nfc_normalize":
                call.replace(call.expressions[0])
    clauses = {clause.alias for clause in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if table.db in ("", "recurring") and table.name in clauses:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(f"{model}__{table.name}"))
    for clause in tree.find_all(exp.CTE):
        clause.args["alias"].set("this", exp.to_identifier(f"{model}__{clause.alias}"))
    return tree


def _empty(tree: exp.Expr, name: str, sql: str) -> None:
    [clause] = [clause for clause in tree.find_all(exp.CTE) if clause.alias == name]
    clause.set("this", sqlglot.parse_one(sql, read="duckdb"))


def _pruned(tree: exp.Expr, schema: dict[str, dict[str, str]]) -> exp.Expr:
    """Only what the chosen columns need."""
    tree = eliminate_ctes(tree)
    tree = tree.transform(lambda node: eliminate_semi_and_anti_joins(node) if isinstance(node, exp.Select) else node)
    tree = qualify(tree, dialect="duckdb", schema=dict(schema), quote_identifiers=False, identify=False)
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group is not None and group.args.get("all"):
            # before any column is dropped: what is grouped by must stay the same
            group.set("all", None)
            group.set("expressions", [column.unalias().copy() for column in select.expressions if not column.find(exp.AggFunc)])
    for _ in range(3):
        tree = eliminate_ctes(eliminate_joins(pushdown_projections(tree)))
    for clauses in tree.find_all(exp.With):
        names = {clause.alias for clause in clauses.expressions}
        if not any(table.name == clause.alias for clause in clauses.expressions for table in clause.this.find_all(exp.Table) if clause.alias in names):
            clauses.set("recursive", False)
    return tree


def _write(tree: exp.Expr, dialect: str) -> Translated:
    if dialect == "duckdb":
        return Translated(tree.sql("duckdb", pretty=True), ())
    form = _in_postgres if dialect == "postgres" else _plainly
    # inner calls first, which the form of an outer one then takes over
    for outer in reversed(list(tree.find_all(exp.Func))):
        other = form(outer)
        if other is not outer:
            outer.replace(other)
    missing = {
        "recursion that keeps one row per key (the search for supersession cycles; --assume no-cycles does without)"
        for clause in tree.find_all(exp.CTE)
        if clause.args.get("key_expressions") or any(table.db == "recurring" for table in clause.this.find_all(exp.Table))
    }
    allowed: tuple[type, ...] = (*PORTABLE, *RUN.get(dialect, ()))
    for part in tree.find_all(exp.Func, exp.Lambda):
        call: exp.Expr = part
        if not isinstance(call, allowed) and not (isinstance(call, exp.Anonymous) and call.name == CARDINALITY):
            name = call.name.lower() if isinstance(call, exp.Anonymous) else call.sql_name().lower() if isinstance(call, exp.Func) else "a lambda"
            missing.add(f"{name}{' (--assume ids-in-nfc does without)' if 'normalize' in name else ''}")
    try:
        sql = tree.sql(dialect, pretty=True, unsupported_level=sqlglot.ErrorLevel.RAISE, max_unsupported=100)
    except UnsupportedError as error:
        # One sentence for each place in the query.
        missing |= {f"what sqlglot reports as {line.strip()!r}" for line in str(error).splitlines() if line.strip()}
        sql = ""
    return Translated("" if missing else sql, tuple(sorted(missing)))


def _plainly(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Anonymous) and node.name.lower() == "list_has_all":
        return exp.ArrayContainsAll(this=node.expressions[0], expression=node.expressions[1])
    if isinstance(node, exp.Anonymous) and node.name.lower() == "nfc_normalize":
        return exp.Normalize(this=node.expressions[0], form=exp.var("NFC"))
    return node


def _in_postgres(node: exp.Expr) -> exp.Expr:
    """What PostgreSQL writes otherwise: lists are arrays of text there, and a filter of one is a query."""
    if isinstance(node, exp.Length):
        return exp.Anonymous(this=CARDINALITY, expressions=[node.this])
    if isinstance(node, exp.ArrayDistinct):
        return _query_of("array(select distinct item from unnest(x) as listed(item))", node.this)
    if isinstance(node, exp.ArrayFilter):
        [name] = node.expression.expressions
        return _query_of(f"array(select {name.name} from unnest(x) as listed({name.name}) where y)", node.this, node.expression.this)
    if isinstance(node, exp.Array) and not node.expressions:
        return exp.cast(node.copy(), exp.DataType.build("text[]", dialect="postgres"))
    return _plainly(node)


def _query_of(sql: str, x: exp.Expr, y: exp.Expr | None = None) -> exp.Expr:
    query = sqlglot.parse_one(sql, read="postgres")
    for column in list(query.find_all(exp.Column)):
        if column.name in ("x", "y") and not column.table:
            column.replace((x if column.name == "x" or y is None else y).copy())
    return query


def heading(read: str, dialect: str, table: str, assume: Collection[str]) -> list[str]:
    """What the select takes for granted, as comments above it."""
    kind = "record_intervals_built" if READS[read][1] == "built" else ", ".join(f"{name} {type_}" for name, (_, type_) in TWELVE.items())
    return [f"-- {read} in {dialect}, over {literal(table)}: {kind}", *(f"-- assumed: {ASSUMPTIONS[name]}" for name in sorted(assume))]
