"""CQL on the stored tables: executes statements and returns results. Independent of connections."""

from __future__ import annotations

import hashlib
import random
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from cassandra.testing import _ast as ast
from cassandra.testing._ddl import Definitions
from cassandra.testing._parser import Parsed, parse
from cassandra.testing._plan import Env, Plan, Result, Route, Scope, SetKeyspace, complete
from cassandra.testing._schema import Data, Schema, Table
from cassandra.testing._select import compile_select
from cassandra.testing._terms import UUID_EPOCH, compile_term
from cassandra.testing._types import BIGINT
from cassandra.testing._write import WritePlan, compile_modification, run_batch
from cassandra.testing.errors import InvalidRequest

PARSED = 1000  # cached parsed statements


class Clock:
    """The time of the servers: the real time plus the offset set by the test."""

    def __init__(self) -> None:
        self.offset = 0.0  # seconds
        self._last = 0

    def milliseconds(self) -> int:
        return int((time.time() + self.offset) * 1000)

    def microseconds(self) -> int:
        """Return the time; it grows with each call, so that the later of two writes wins."""
        self._last = max(self._last + 1, int((time.time() + self.offset) * 1_000_000))
        return self._last


class SystemTables(Protocol):
    """Source of the rows of system tables."""

    def content(self, table: Table, node: object) -> Data | None:
        """Return the current content of *table* on *node*; None for an ordinary table."""


@dataclass
class DefinitionPlan(Plan):
    """Any statement that returns no rows and has no markers."""

    perform: Callable[[], Result] = Result

    def run(self, env: Env) -> Result:
        return self.perform()


@dataclass
class BatchPlan(Plan):
    """BEGIN BATCH ... APPLY BATCH."""

    plans: list[WritePlan] = field(default_factory=list)
    kind: str = "LOGGED"
    timestamp: Callable[[Env], object] | None = None

    def run(self, env: Env) -> Result:
        given = self.timestamp(env) if self.timestamp else None
        if isinstance(given, int):
            env = Env(env.values, env.now, given, new_uuid=env.new_uuid, new_timeuuid=env.new_timeuuid)
        return run_batch(self.plans, [env] * len(self.plans), self.kind)

    def route(self, env: Env) -> Route | None:
        return self.plans[0].route(env) if self.plans else None


@dataclass
class Prepared:
    """A prepared statement; its plan is compiled again when the schema has changed."""

    id: bytes
    text: str
    keyspace: str | None
    plan: Plan
    generation: int

    def metadata_id(self) -> bytes:
        """Return a digest of the result columns."""
        digest = hashlib.md5(usedforsecurity=False)
        for spec in self.plan.columns or ():
            digest.update(repr((spec.keyspace, spec.table, spec.name)).encode() + spec.type.option(5))
        return digest.digest()


class Engine:
    """One CQL database. Not thread-safe: its owner calls it from one thread."""

    def __init__(self, schema: Schema, definitions: Definitions, system: SystemTables, rng: random.Random) -> None:
        self.schema = schema
        self.definitions = definitions
        self.system = system
        self.clock = Clock()
        self._rng = rng
        self._parsed: OrderedDict[str, Parsed] = OrderedDict()
        self._ticks = 0

    # -- compiling

    def compile(self, text: str, keyspace: str | None) -> Plan:
        """Compile a statement. Raise the errors of :mod:`cassandra.testing.errors`."""
        parsed = self._parse(text)
        scope = Scope(self.schema, keyspace, parsed.markers)
        plan = self._compile(parsed.statement, scope)
        complete(plan, scope)
        return plan

    def _parse(self, text: str) -> Parsed:
        found = self._parsed.get(text)
        if found is None:
            found = self._parsed[text] = parse(text)
            if len(self._parsed) > PARSED:
                self._parsed.popitem(last=False)
        return found

    def _compile(self, statement: ast.Statement, scope: Scope) -> Plan:
        if isinstance(statement, ast.Select):
            table = self._table(statement.table, scope)
            return compile_select(statement, table, scope)
        if isinstance(statement, ast.Modification):
            return compile_modification(statement, self._table(statement.table, scope), scope)
        if isinstance(statement, ast.Batch):
            return self._compile_batch(statement, scope)
        plan = DefinitionPlan()
        if isinstance(statement, ast.Use):
            keyspace = statement.keyspace
            plan.perform = lambda: SetKeyspace(self.schema.keyspace(keyspace).name)
        elif isinstance(statement, ast.Truncate):
            target = statement.table
            plan.perform = lambda: self._truncate(target, scope.keyspace)
        else:
            definition = statement
            plan.perform = lambda: self.definitions.run(definition, scope.keyspace)
        return plan

    def _table(self, name: ast.TableName, scope: Scope) -> Table:
        table = self.schema.table(name, scope.keyspace)
        scope.keyspace = table.keyspace
        return table

    def _truncate(self, name: ast.TableName, keyspace: str | None) -> Result:
        table = self.schema.table(name, keyspace)
        if table.virtual:
            raise InvalidRequest(f"Cannot truncate {table.keyspace}.{table.name}")
        table.data.clear()
        return Result()

    def _compile_batch(self, statement: ast.Batch, scope: Scope) -> Plan:
        plan = BatchPlan(kind=statement.kind)
        if statement.using.timestamp is not None:
            plan.timestamp = compile_term(statement.using.timestamp, BIGINT, "[timestamp]", scope)
        for part in statement.statements:
            inner = Scope(self.schema, scope.keyspace, scope.names)
            inner.specs = scope.specs  # the markers of a batch are numbered consecutively
            plan.plans.append(compile_modification(part, self._table(part.table, inner), inner))
        plan.conditional = any(part.conditional for part in plan.plans)
        plan.table = plan.plans[0].table if plan.plans else None
        return plan

    # -- running

    def prepare(self, text: str, keyspace: str | None) -> Prepared:
        plan = self.compile(text, keyspace)
        key = f"{keyspace or ''}{text}"
        return Prepared(
            hashlib.md5(key.encode(), usedforsecurity=False).digest(), text, keyspace, plan, self.schema.generation
        )

    def refresh(self, prepared: Prepared) -> Plan:
        """Return the plan of *prepared* for the current schema."""
        if prepared.generation != self.schema.generation:
            prepared.plan = self.compile(prepared.text, prepared.keyspace)
            prepared.generation = self.schema.generation
        return prepared.plan

    def env(self, values: Sequence[object], timestamp: int | None = None, now: int | None = None) -> Env:
        """Return the environment of an execution that begins now."""
        return Env(
            values=values,  # type: ignore[arg-type]
            now=self.clock.milliseconds() if now is None else now,
            timestamp=self.clock.microseconds() if timestamp is None else timestamp,
            new_uuid=self.new_uuid,
            new_timeuuid=self.new_timeuuid,
        )

    def run(self, plan: Plan, env: Env) -> Result:
        table = plan.table
        if table is not None and table.virtual:
            content = self.system.content(table, env.node)
            if content is not None:
                table.data = content
        return plan.run(env)

    def run_batch(self, plans: Sequence[Plan], envs: Sequence[Env], kind: str) -> Result:
        """Run a BATCH message."""
        writes = [plan for plan in plans if isinstance(plan, WritePlan)]
        if len(writes) != len(plans):
            raise InvalidRequest("Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed.")
        return run_batch(writes, envs, kind) if writes else Result()

    def new_uuid(self) -> UUID:
        return UUID(int=self._rng.getrandbits(128), version=4)

    def new_timeuuid(self) -> UUID:
        self._ticks = max(self._ticks + 1, self.clock.milliseconds() * 10000 + UUID_EPOCH)
        fields = (self._ticks & 0xFFFFFFFF, self._ticks >> 32 & 0xFFFF, self._ticks >> 48 & 0x0FFF | 0x1000)
        return UUID(fields=(*fields, 0x80 | self._rng.getrandbits(6), self._rng.getrandbits(8), 0x5C111A))
