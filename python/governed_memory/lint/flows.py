"""Where each column of one query comes from, by sqlglot: qualified names, then one pass over its scopes from the inside out.

Everything errs to one side: what cannot be told apart counts as a source, and what cannot be followed at all is said, never left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from governed_memory.errors import one_line

# A column of a relation: (dbt's unique id, name).
Leaf = tuple[str, str]
Find = Callable[[tuple[str, ...]], str | None]
Columns = Callable[[str], Collection[str]]
# Table functions that make rows from their arguments alone.
MADE = {"range", "generate_series", "unnest", "generate_subscripts", "repeat_row"}
# Says nothing but which rows come in what order, or which of them at all.
FILTERS = ("where", "group", "having", "qualify", "order", "distinct", "windows", "sort", "cluster", "prewhere", "connect", "limit", "offset")
NAMED = "gmem_relation_"
MOST_TOLD = 120


@dataclass(slots=True)
class Flow:
    """What one query hands on.

    Attributes:
        outputs: where each column comes from.
        filters: columns that decide which rows come out, or in what order.
        rest: where a column comes from that `outputs` does not name; None: there is no other column.
        relations: those it reads.
        problems: what could not be followed.
        is_read: whether `relations` are all there are; not where the SQL could not be read.
    """

    outputs: dict[str, set[Leaf]] = field(default_factory=dict)
    filters: set[Leaf] = field(default_factory=set)
    rest: set[Leaf] | None = None
    relations: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    is_read: bool = True

    def all(self) -> set[Leaf]:
        """Where any of its columns comes from."""
        return set().union(*self.outputs.values(), self.rest or ())


def flow(sql: str, dialect: str, find: Find, columns: Columns, parameters: Collection[str]) -> Flow:
    """Follow the columns of one query.

    Args:
        sql: the query.
        dialect: of it, as sqlglot calls it.
        find: the relation that a written name means; None for a name that means none.
        columns: the columns of a relation; none where they are not known.
        parameters: names that stand for a value where no column has that name.
    """
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # what it would log becomes a problem below
    try:
        statements = [statement for statement in sqlglot.parse(sql, read=dialect) if statement is not None]
        if len(statements) != 1 or not isinstance(statements[0], exp.Query):
            return Flow(rest=set(), is_read=False, problems=["its SQL is not one select"])
        return _follow(_Pass(dialect, find, columns, parameters), statements[0])
    except RecursionError:
        return Flow(rest=set(), is_read=False, problems=["its SQL is nested too deeply to be followed"])
    except SqlglotError as error:
        # not its text, which quotes the SQL and so perhaps a value
        return Flow(rest=set(), is_read=False, problems=[f"its SQL cannot be read ({type(error).__name__}{_place(error)})"])
    except (ValueError, KeyError, AttributeError, TypeError, IndexError) as error:
        # sqlglot meets with something that it did not foresee
        return Flow(rest=set(), is_read=False, problems=[f"its SQL cannot be followed ({type(error).__name__})"])


def _follow(pass_: _Pass, tree: exp.Expr) -> Flow:
    try:
        return pass_.run(tree)
    except SqlglotError as error:
        told = f"its columns cannot be told apart ({one_line(str(error))[:MOST_TOLD]})"
        return Flow(rest=set(), relations=set(pass_.uids.values()), problems=[*pass_.problems, told])


def _place(error: Exception) -> str:
    told = getattr(error, "errors", None)
    return f", line {told[0]['line']}" if told and told[0].get("line") else ""


class _Pass:
    def __init__(
        self, dialect: str, find: Callable[[tuple[str, ...]], str | None], columns: Callable[[str], Collection[str]], parameters: Collection[str]
    ) -> None:
        self.dialect, self.find, self.columns, self.parameters = dialect, find, columns, parameters
        self.problems: dict[str, None] = {}
        self.lost: dict[str, None] = {}
        self.uids: dict[str, str] = {}
        self.known: dict[int, Flow] = {}
        self.by_expression: dict[int, Flow] = {}

    def run(self, tree: exp.Expr) -> Flow:
        self._name_relations(tree)
        schema: dict[str, object] = {name: dict.fromkeys(self.columns(uid), "unknown") for name, uid in self.uids.items() if self.columns(uid)}
        tree = qualify(tree, dialect=self.dialect, schema=schema, validate_qualify_columns=False, identify=False, quote_identifiers=False)
        result = Flow()
        for scope in traverse_scope(tree):
            result = self.known[id(scope)] = self.by_expression[id(scope.expression)] = self._scope(scope)
        for kind in (exp.Pivot, exp.Command):
            if tree.find(kind):
                self._problem(f"it uses {kind.__name__.lower()}, which cannot be followed")
        if not self.known:
            self._problem("its SQL is of a kind that cannot be followed")
        result.relations = set(self.uids.values())
        # A column is lost because of what is wrong with its relation, where something is.
        result.problems = list(self.problems or self.lost)
        return result

    def _problem(self, text: str) -> None:
        self.problems[text] = None

    def _name_relations(self, tree: exp.Expr) -> None:
        """Give each relation one plain name, whatever parts the SQL writes of it; clauses of the query keep theirs."""
        names: dict[str, str] = {}
        for clause in list(tree.find_all(exp.CTE)):
            uid = self.find((clause.alias.lower(),)) if clause.alias.lower().startswith("__dbt__cte__") else None
            if uid is not None:  # an ephemeral model, which dbt writes into every query that reads it
                clause.set("this", exp.select("*").from_(self._named(uid, names)))
        for table in list(tree.find_all(exp.Table)):
            called = table.this if isinstance(table.this, exp.Func) else None
            name = called.name if isinstance(called, exp.Anonymous) else called.sql_name() if called else table.name
            written = tuple(part.lower() for part in (table.catalog, table.db, name) if part)
            if len(written) == 2 and written[0] == "recurring" and self._is_clause(table, written[1]):
                table.set("db", None)  # DuckDB's name for all that a recursion has found so far
                continue
            if table.name.startswith(NAMED) or (len(written) == 1 and not called and self._is_clause(table, written[0])):
                continue
            uid = self.find(written) or self.find((table.this.sql(dialect=self.dialect),)) or self.find((f"'{table.name}'",))
            if uid is None:
                if not (called and written[-1] in MADE):
                    self._problem(f"it reads {'.'.join(written)!r}, which is no relation of the manifest")
                continue
            if called and called.find(exp.Column):
                self._problem(f"it calls {'.'.join(written)!r} with columns, which cannot be followed")
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(written[-1], quoted=True)))
            for part in ("db", "catalog"):
                table.set(part, None)
            table.set("this", exp.to_identifier(self._named(uid, names)))

    def _named(self, uid: str, names: dict[str, str]) -> str:
        name = names.setdefault(uid, f"{NAMED}{len(names)}")
        self.uids[name] = uid
        return name

    @staticmethod
    def _is_clause(table: exp.Table, name: str) -> bool:
        around: exp.Expr | None = table
        while around is not None:
            clauses = around.args.get("with_")
            if clauses and any(clause.alias.lower() == name for clause in clauses.expressions):
                return True
            around = around.parent
        return False

    # Scopes --------------------------------------------------------------------------------------------------------------------------

    def _scope(self, scope: Scope) -> Flow:
        expression = scope.expression
        if isinstance(expression, exp.SetOperation):
            return self._set_operation(scope, expression)
        if isinstance(expression, exp.Select):
            return self._select(scope, expression)
        if isinstance(expression, (exp.Subquery, exp.Lateral)):
            inner = self._inner(expression)
            if inner is not None:
                return self._renamed(inner, expression)
        if isinstance(expression, (exp.UDTF, exp.Table)):
            values, filters = self._leaves(expression, scope)
            return Flow(filters=filters, rest=values)
        self._problem(f"it holds a {type(expression).__name__.lower()}, which cannot be followed")
        return Flow(rest=set())

    def _inner(self, expression: exp.Expr) -> Flow | None:
        this = expression.this
        while isinstance(this, exp.Subquery):
            if id(this) in self.by_expression:
                break
            this = this.this
        return self.by_expression.get(id(this))

    def _renamed(self, inner: Flow, expression: exp.Expr) -> Flow:
        names = [name.lower() for name in expression.alias_column_names] if isinstance(expression, (exp.Subquery, exp.Lateral)) else []
        outputs = list(inner.outputs.items())
        renamed = {(names[place] if place < len(names) else name): leaves for place, (name, leaves) in enumerate(outputs)}
        # the old names stay known: sqlglot uses either
        return Flow(outputs={**inner.outputs, **renamed}, filters=set(inner.filters), rest=inner.rest)

    def _set_operation(self, scope: Scope, expression: exp.SetOperation) -> Flow:
        sides = [self.known[id(side)] for side in scope.set_operation_scopes]
        first, second = sides
        outputs = {name: set(leaves) for name, leaves in first.outputs.items()}
        filters = first.filters | second.filters
        if isinstance(expression, exp.Union):
            if expression.args.get("by_name"):
                for name, leaves in second.outputs.items():
                    outputs.setdefault(name, set()).update(leaves)
            else:
                if len(first.outputs) != len(second.outputs):
                    self._problem("it unites sides that differ in the number of columns")
                for name, leaves in zip(outputs, second.outputs.values(), strict=False):
                    outputs[name] |= leaves
        else:
            filters |= second.all()
        for key in FILTERS:
            for column in self._columns_of(expression.args.get(key)):
                filters |= outputs.get(column.name.lower(), set())
        rest = None if first.rest is None and second.rest is None else (first.rest or set()) | (second.rest or set())
        if self._is_recursive(expression):
            # a later turn may move any column into any other
            every = set().union(*outputs.values(), rest or ())
            outputs = {name: set(every) for name in outputs}
            filters |= every
        return Flow(outputs, filters, rest)

    @staticmethod
    def _is_recursive(expression: exp.Expr) -> bool:
        clause = expression.parent
        return isinstance(clause, exp.CTE) and isinstance(clause.parent, exp.With) and bool(clause.parent.args.get("recursive"))

    @staticmethod
    def _columns_of(part: object) -> Iterator[exp.Column]:
        for node in part if isinstance(part, list) else [part]:
            if isinstance(node, exp.Expr):
                yield from node.find_all(exp.Column)

    def _select(self, scope: Scope, expression: exp.Select) -> Flow:
        result = Flow()
        for projection in expression.expressions:
            values, filters = self._leaves(projection, scope)
            result.filters |= filters
            if projection.is_star or projection.find(exp.Columns):
                self._problem("it selects columns by a star or a pattern whose relation's columns are not known")
                result.rest = (result.rest or set()) | values | self._everything(scope)
            else:
                result.outputs.setdefault(projection.alias_or_name.lower(), set()).update(values)
        for part in self._filters(expression):
            values, filters = self._leaves(part, scope, result)
            result.filters |= values | filters
        for source in scope.sources.values():
            if isinstance(source, Scope):
                result.filters |= self.known[id(source)].filters if id(source) in self.known else set()
        return result

    @staticmethod
    def _filters(expression: exp.Select) -> Iterator[exp.Expr]:
        for key in FILTERS:
            part = expression.args.get(key)
            yield from (node for node in (part if isinstance(part, list) else [part]) if isinstance(node, exp.Expr))
        for join in expression.find_all(exp.Join):
            if join.find_ancestor(exp.Select, exp.SetOperation) is expression:
                yield from (node for key in ("on", "match_condition") if isinstance(node := join.args.get(key), exp.Expr))

    def _leaves(self, node: exp.Expr, scope: Scope, selected: Flow | None = None) -> tuple[set[Leaf], set[Leaf]]:
        """The columns that a piece of a query reads, and what filters the queries inside it."""
        values: set[Leaf] = set()
        filters: set[Leaf] = set()
        waiting: list[exp.Expr] = [node]
        while waiting:
            part = waiting.pop()
            inner = self.by_expression.get(id(part)) if part is not node or isinstance(part, exp.Query) else None
            if inner is not None:
                values |= inner.all()
                filters |= inner.filters
            elif isinstance(part, (exp.Column, exp.TableColumn)):
                values |= self._column(part, scope, selected)
            elif isinstance(part, exp.Star) and not isinstance(part.parent, exp.Count):
                values |= self._everything(scope)
            else:
                waiting.extend(child for child in part.iter_expressions() if not isinstance(child, exp.TableAlias))
        return values, filters

    # Columns -------------------------------------------------------------------------------------------------------------------------

    def _column(self, column: exp.Expr, scope: Scope, selected: Flow | None) -> set[Leaf]:
        name = column.name.lower()
        table = column.table if isinstance(column, exp.Column) else ""
        around: Scope | None = scope
        while around is not None:
            if table and table in around.sources:
                return self._from_source(around.sources[table], table, name, around)
            if not table and name in around.sources:
                return self._from_source(around.sources[name], name, "*", around)
            around = around.parent
        if not table:
            if selected is not None and name in selected.outputs:
                return selected.outputs[name]
            if name in self.parameters:
                return set()
            if isinstance(column.parent, exp.Distinct) or name == "*":
                return self._everything(scope)
        self.lost[f"it is not known where the column {(table + '.' if table else '') + column.name!r} comes from"] = None
        return self._everything(scope)

    def _from_source(self, source: Scope | exp.Expr, alias: str, name: str, scope: Scope) -> set[Leaf]:
        if isinstance(source, Scope):
            inner = self.known.get(id(source))
            if inner is None:
                # the clause that is being defined: a recursive one, whose columns all count as one, so the part before does
                return set()
            if name == "*":
                return inner.all()
            if name in inner.outputs:
                return inner.outputs[name]
            if inner.rest is not None:
                return inner.rest
            self._problem(f"{alias!r} has no column {name!r} that could be followed")
            return inner.all()
        return self._from_table(source, alias, name, scope)

    def _from_table(self, table: exp.Expr, alias: str, name: str, scope: Scope) -> set[Leaf]:
        uid = self.uids.get(table.name.lower())  # some dialects put names in upper case
        if uid is None:
            if not isinstance(table.this, exp.Func):
                self.lost[f"it is not known what {table.name!r} is"] = None
            # a function that makes rows, or what has been named as a problem already
            return self._leaves(table.this, scope)[0] if isinstance(table.this, exp.Func) else set()
        columns = [column.lower() for column in self.columns(uid)]
        given = [column.lower() for column in table.alias_column_names] if isinstance(table, exp.Table) else []
        if name in given and name != "*":
            if given.index(name) < len(columns):
                return {(uid, columns[given.index(name)])}
            self._problem(f"{alias!r} renames columns that are not known")
            return {(uid, "*")}
        if name != "*" and columns and name not in columns:
            self._problem(f"{uid} has no column {name!r}")
        return {(uid, name)}

    def _everything(self, scope: Scope) -> set[Leaf]:
        found: set[Leaf] = set()
        for alias, source in scope.sources.items():
            found |= self._from_source(source, alias, "*", scope)
        return found
