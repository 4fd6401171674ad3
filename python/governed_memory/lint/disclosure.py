"""Which restricted column reaches whom without a governed read: a walk back from every exposure and public model (rules G5, G7, C22).

A path ends at the first column marked restricted, and at a governed read. A public model may hold a restricted column where its own yml
says so; then whoever reads that model is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

from sqlglot.dialects.dialect import Dialect

from governed_memory.errors import InputError
from governed_memory.lint.flows import Flow, Leaf, flow
from governed_memory.lint.manifest import SNAPSHOT_COLUMNS, Exposure, Project, Relation

# Stands for which rows a relation has.
ROWS = ""
# dbt adapters whose dialect sqlglot calls otherwise.
DIALECTS = {"sqlserver": "tsql", "synapse": "tsql", "fabric": "tsql"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One restricted column that reaches somebody.

    Attributes:
        kind: `value`, or `influences` where it only decides which rows there are or how they are ordered.
        target: the exposure or public model.
        path: the columns on the way, from the target to the restricted one; of those that only filter, the relation without a column.
        allowed: why the exposure may read it, in its owner's words; empty where nothing says so.
    """

    kind: str
    target: str
    path: tuple[Leaf, ...]
    allowed: str = ""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A relation on the way that could not be followed, why, and whom it may reach."""

    relation: str
    reason: str
    targets: tuple[str, ...]


@dataclass(slots=True)
class Report:
    """What there is to say of a project."""

    findings: list[Finding] = field(default_factory=list)
    unresolved: list[Unresolved] = field(default_factory=list)
    targets: int = 0
    restricted: int = 0
    governed_reads: list[str] = field(default_factory=list)


class Flows:
    """The flow of every relation that a target may read, worked out parents first."""

    def __init__(self, project: Project) -> None:
        """Nothing is followed yet."""
        self.project = project
        self.dialect = DIALECTS.get(project.dialect, project.dialect)
        if self.dialect not in Dialect.classes:
            raise InputError(f"the manifest is for {project.dialect!r}, whose SQL cannot be read; known are {', '.join(sorted(filter(None, Dialect.classes)))}")
        self.by_uid: dict[str, Flow] = {}
        self.by_name: dict[tuple[str, ...], list[str]] = {}
        for uid, relation in project.relations.items():
            for start in range(len(relation.written)):
                self.by_name.setdefault(relation.written[start:], []).append(uid)

    def work_out(self, uids: Iterable[str]) -> None:
        """Follow these and all they read."""
        for uid in self._parents_first(uids):
            self.by_uid[uid] = self._flow(self.project.relations[uid])

    def _parents_first(self, uids: Iterable[str]) -> Iterator[str]:
        placed: set[str] = set()
        waiting = [(uid, False) for uid in sorted(uids, reverse=True)]
        while waiting:
            uid, are_parents_done = waiting.pop()
            if are_parents_done:
                yield uid
            elif uid not in placed and uid in self.project.relations:
                placed.add(uid)
                relation = self.project.relations[uid]
                waiting.append((uid, True))
                if not _is_end(relation):
                    waiting += [(parent, False) for parent in relation.reads]

    def columns(self, uid: str) -> tuple[str, ...]:
        """Of a relation: those of its own SQL, else of the catalogue or the yml."""
        known = self.by_uid.get(uid)
        if known is not None and known.outputs and known.rest is None:
            return (*known.outputs, *(SNAPSHOT_COLUMNS if self.project.relations[uid].kind == "snapshot" else ()))
        return self.project.relations[uid].columns

    def asked_of(self, uid: str) -> tuple[str, ...]:
        """The columns of what a target reads, and `*` for those that are not known."""
        known = self.by_uid.get(uid)
        is_open = not self.columns(uid) or (known is not None and known.rest is not None)
        return (*self.columns(uid), *(("*",) if is_open else ()))

    def _flow(self, relation: Relation) -> Flow:
        if relation.kind in ("seed", "source") or _is_end(relation):
            return Flow()
        if relation.sql is None:
            return Flow(rest=set(), problems=[relation.missing], is_read=False)

        def find(written: tuple[str, ...]) -> str | None:
            found = self.by_name.get(written, [])
            if len(found) > 1:
                found = [uid for uid in found if uid in relation.reads or uid == relation.uid]
            return found[0] if len(found) == 1 else None

        ways = relation.sql.split("\n;\n") if relation.parameters else [relation.sql]
        flows = [flow(sql, self.dialect, find, self.columns, relation.parameters) for sql in ways]
        together = flows[0]
        for other in flows[1:]:
            for name, leaves in other.outputs.items():
                together.outputs.setdefault(name, set()).update(leaves)
            together.filters |= other.filters
            together.relations |= other.relations
            together.rest = together.rest if other.rest is None else (together.rest or set()) | other.rest
            together.problems += [problem for problem in other.problems if problem not in together.problems]
        if all(way.is_read for way in flows):
            together.problems += self._unseen(relation, together.relations)
        return together

    def _unseen(self, relation: Relation, read: Collection[str]) -> Iterator[str]:
        """What the manifest says it depends on and its SQL does not name."""
        for parent in relation.reads:
            if parent.startswith("function."):
                yield f"it calls {parent}, which cannot be followed"
            elif parent in self.project.relations and parent not in read and not self.project.relations[parent].is_governed:
                yield f"it depends on {parent}, which its SQL does not name: what was read of it while compiling cannot be followed"


def _is_end(relation: Relation) -> bool:
    """Whether nothing before it is asked about; its own columns must then be known."""
    return (relation.is_governed or relation.is_origin) and bool(relation.columns)


def lint(project: Project) -> Report:
    """Look at every exposure and public model of a project.

    Raises:
        InputError: its SQL is of a dialect that sqlglot does not know.
    """
    relations = project.relations
    flows = Flows(project)
    targets: list[tuple[str, str, tuple[str, ...], str]] = [
        *((exposure.uid, "exposure", exposure.reads, exposure.may_read_restricted) for exposure in project.exposures),
        *((uid, "model", (uid,), "") for uid, relation in sorted(relations.items()) if relation.is_public and not relation.is_governed),
    ]
    flows.work_out({uid for _, _, reads, _ in targets for uid in reads})
    report = Report(targets=len(targets), restricted=sum(len(relation.restricted) or relation.every for relation in relations.values()))
    troubled: dict[tuple[str, str], list[str]] = {}
    for name, kind, reads, allowed in targets:
        walk = _Walk(flows, is_own_mark_stated=kind == "model")
        for uid in reads:
            if relations[uid].is_governed:
                continue
            for column in flows.asked_of(uid):
                report.findings += [Finding("value", name, path, allowed) for path in walk.paths((uid, column), walk.value_steps)]
            report.findings += [Finding("influences", name, path, allowed) for path in walk.paths((uid, ROWS), walk.row_steps)]
        for uid in sorted(walk.seen):
            for reason in flows.by_uid[uid].problems if uid in flows.by_uid else ():
                troubled.setdefault((uid, reason), []).append(name)
    report.findings = _once(report.findings)
    report.unresolved = [Unresolved(uid, reason, tuple(names)) for (uid, reason), names in sorted(troubled.items())]
    report.unresolved += [_unknown(exposure, uid) for exposure in project.exposures for uid in exposure.unknown]
    report.governed_reads = sorted(uid for uid, relation in relations.items() if relation.is_governed)
    return report


def _unknown(exposure: Exposure, uid: str) -> Unresolved:
    return Unresolved(uid, "an exposure reads it, and it is nothing whose columns could be followed", (exposure.uid,))


def _once(findings: list[Finding]) -> list[Finding]:
    """One finding, by the shortest path, for each target, first column and restricted column; of what only filters, where no value goes."""
    valued = {(finding.target, finding.path[-1]) for finding in findings if finding.kind == "value"}
    kept = [finding for finding in findings if finding.kind == "value" or (finding.target, finding.path[-1]) not in valued]
    return sorted(kept, key=lambda finding: (finding.kind != "value", finding.target, len(finding.path), finding.path))


class _Walk:
    """The ways back from one target."""

    def __init__(self, flows: Flows, is_own_mark_stated: bool) -> None:
        self.flows, self.relations = flows, flows.project.relations
        self.is_own_mark_stated = is_own_mark_stated
        self.seen: set[str] = set()

    def value_steps(self, leaf: Leaf) -> Iterator[Leaf]:
        """What a column is made of."""
        uid, column = leaf
        known = self.flows.by_uid.get(uid)
        if known is None:
            return
        if column == "*":
            yield from sorted(known.all())
        elif column in known.outputs or known.rest is not None:
            yield from sorted(known.outputs.get(column, known.rest or set()))

    def row_steps(self, leaf: Leaf) -> Iterator[Leaf]:
        """What decides which rows a relation has, and what those columns are made of."""
        uid, column = leaf
        if column != ROWS:
            yield from self.value_steps(leaf)
        elif uid in self.flows.by_uid:
            yield from sorted(self.flows.by_uid[uid].filters)
            yield from ((parent, ROWS) for parent in sorted(self.flows.by_uid[uid].relations - {uid}))

    def paths(self, start: Leaf, steps: Callable[[Leaf], Iterator[Leaf]]) -> Iterator[tuple[Leaf, ...]]:
        """The shortest way from a column, or from the rows, to each restricted column that it reaches."""
        came_from: dict[Leaf, Leaf | None] = {start: None}
        waiting = [start]
        for leaf in waiting:
            uid, column = leaf
            relation = self.relations[uid]
            if relation.is_governed or column in relation.governed:
                continue
            self.seen.add(uid)
            if column != ROWS and self._is_restricted(relation, column):
                if not (leaf == start and self.is_own_mark_stated):
                    yield _way(leaf, came_from)
                continue
            for step in steps(leaf):
                if step not in came_from:
                    came_from[step] = leaf
                    waiting.append(step)

    def _is_restricted(self, relation: Relation, column: str) -> bool:
        if column == "*":
            return relation.every or bool(relation.restricted)
        return relation.is_restricted(column)


def _way(leaf: Leaf, came_from: dict[Leaf, Leaf | None]) -> tuple[Leaf, ...]:
    way = [leaf]
    while (before := came_from[way[-1]]) is not None:
        way.append(before)
    return tuple(reversed(way))
