"""Results that programs make by hand, and many statements of sessions that are none of ours."""

# mypy: ignore-errors
from unittest.mock import MagicMock, Mock, PropertyMock

from cases import show

from cassandra import query
from cassandra.cluster import ResultSet, Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args


def results():
    for name, future in (
        ("Mock", Mock(has_more_pages=False)),
        ("MagicMock", MagicMock(has_more_pages=False)),
    ):
        for rows in ([1, 2, 3], [], None, (1, 2), [{"a": 1}]):

            def made(future=future, rows=rows):
                return ResultSet(future, rows)

            what = f"ResultSet({name}, {rows})"
            show(what + " list", lambda made=made: list(made()))
            show(what + " bool", lambda made=made: bool(made()))
            show(what + " one", lambda made=made: made().one())
            show(what + " all", lambda made=made: made().all())
            show(what + " has_more_pages", lambda made=made: made().has_more_pages)
            show(what + " next", lambda made=made: next(iter(made())))
            show(what + " index", lambda made=made: made()[0])
            show(what + " slice", lambda made=made: made()[0:2])
            show(what + " ==", lambda made=made, rows=rows: made() == rows)
            show(what + " current_rows", lambda made=made: made().current_rows)


def pages():
    def paged(*later):
        future = Mock(has_more_pages=True, _continuous_paging_session=None)
        pages = list(later)

        def result():
            future.has_more_pages = bool(pages[1:])
            return ResultSet(future, pages.pop(0))

        future.result.side_effect = result
        return future

    future = paged([4, 5, 6])
    rows = ResultSet(future, [1, 2, 3])
    print(rows.has_more_pages, list(rows), rows.has_more_pages)
    print(future.start_fetching_next_page.call_count, future.result.call_count)
    future = paged([3], [4])
    rows = ResultSet(future, [1, 2])
    print(rows.all(), future.start_fetching_next_page.call_count)
    future = paged([3], [4])
    rows = ResultSet(future, [1, 2])
    rows.fetch_next_page()
    print(rows.current_rows, rows.has_more_pages)
    rows.fetch_next_page()
    print(rows.current_rows, rows.has_more_pages)
    rows.fetch_next_page()
    print(rows.current_rows, rows.has_more_pages)
    future = paged([3], [4])
    rows = ResultSet(future, [1, 2])
    print(rows[2], rows[0], rows == [1, 2, 3, 4], list(rows))
    future = paged([], [4])
    rows = ResultSet(future, [])
    print(list(rows))

    class Counted(ResultSet):
        fetched = 0

        def fetch_next_page(self):
            self.fetched += 1
            super().fetch_next_page()

    rows = Counted(paged([3], [4]), [1, 2])
    print(list(rows), rows.fetched)

    for operation in (
        list,
        lambda rows: rows.all(),
        lambda rows: rows[0],
        lambda rows: rows == [1],
        lambda rows: rows.one(),
        bool,
        lambda rows: rows.has_more_pages,
        lambda rows: next(iter(rows)),
        lambda rows: rows.fetch_next_page(),
        lambda rows: rows.current_rows,
    ):
        future = Mock(_continuous_paging_session=None)
        more = PropertyMock(side_effect=(True, True, False))
        type(future).has_more_pages = more
        future.result.side_effect = (ResultSet(Mock(has_more_pages=False), [3, 4]),)
        rows = ResultSet(future, [1, 2])
        show("counted", operation, rows)
        print(more.call_count, future.start_fetching_next_page.call_count, future.result.call_count)


def applied():
    names = ("named_tuple_factory", "dict_factory", "tuple_factory", "ordered_dict_factory")
    for name in names:
        future = Mock(row_factory=getattr(query, name), has_more_pages=False)
        future.query = "UPDATE"
        for value in (True, False):
            row = query.dict_factory(["[applied]"], [(value,)])[0] if "dict" in name else (value,)
            show(f"was_applied {name} {value}", lambda future=future, row=row: ResultSet(future, [row]).was_applied)
    future = Mock(row_factory=query.tuple_factory, has_more_pages=False)
    show("was_applied without rows", lambda: ResultSet(future, []).was_applied)
    show("was_applied with two", lambda: ResultSet(future, [(True,), (True,)]).was_applied)
    future = Mock(row_factory=lambda names, rows: rows, has_more_pages=False)
    show("was_applied own factory", lambda: ResultSet(future, [(True,)]).was_applied)
    future = Mock(row_factory=query.tuple_factory, has_more_pages=False)
    future.query = query.SimpleStatement("BEGIN BATCH APPLY BATCH")
    rows = ResultSet(future, [(True,)])
    rows.column_names = ["[applied]"]
    show("was_applied batch text", lambda: rows.was_applied)
    rows = ResultSet(future, [(True,)])
    rows.column_names = ["other"]
    show("was_applied batch other", lambda: rows.was_applied)


def traces():
    future = Mock(has_more_pages=False)
    rows = ResultSet(future, [1])
    future.get_query_trace.return_value = "trace"
    future.get_all_query_traces.return_value = ["trace"]
    print(rows.get_query_trace(3), rows.get_all_query_traces(4), rows.response_future is future)
    print(future.get_query_trace.call_args, future.get_all_query_traces.call_args)


# ---- many at a time


class FakeFuture:
    has_more_pages = False
    _col_names = _col_types = _continuous_paging_session = None

    def __init__(self, value):
        self.value = value

    def clear_callbacks(self):
        pass

    def add_callback(self, fn, *args, **kwargs):
        if not isinstance(self.value, Exception):
            fn([self.value], *args, **kwargs)
        return self

    def add_errback(self, fn, *args, **kwargs):
        if isinstance(self.value, Exception):
            fn(self.value, *args, **kwargs)
        return self

    def add_callbacks(
        self, callback, errback, callback_args=(), callback_kwargs=None, errback_args=(), errback_kwargs=None
    ):
        if isinstance(self.value, Exception):
            errback(self.value, *errback_args, **(errback_kwargs or {}))
        else:
            callback([self.value], *callback_args, **(callback_kwargs or {}))

    def result(self):
        if isinstance(self.value, Exception):
            raise self.value
        return ResultSet(self, [self.value])


class FakeSession:
    def __init__(self):
        self.calls = []

    def execute_async(self, *args, **kwargs):
        statement, params = args[:2]
        self.calls.append((statement, params, args[2:], sorted(kwargs)))
        return FakeFuture(ValueError(params) if params and params[0] < 0 else (statement, params))


class Proxy:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)


def outcome(result):
    return result.success, str(result.result_or_exc) if not result.success else list(result.result_or_exc)


def concurrent():
    good = [("a", (1,)), ("b", (2,)), ("c", None)]
    bad = [("a", (1,)), ("b", (-2,)), ("c", (3,))]
    fake = FakeSession()
    execute_concurrent(fake, [("a", (1,))], execution_profile="p")
    print("execution_profile" in fake.calls[0][3])
    for what, wrap in (
        ("fake", lambda fake: fake),
        ("proxy", Proxy),
        ("mock", lambda fake: Mock(execute_async=fake.execute_async)),
    ):
        for generator in (False, True):
            fake = FakeSession()
            rows = execute_concurrent(wrap(fake), good, results_generator=generator)
            print(what, generator, [outcome(row) for row in rows], [call[:2] for call in fake.calls])
            fake = FakeSession()
            rows = execute_concurrent(wrap(fake), bad, raise_on_first_error=False, results_generator=generator)
            print(what, generator, [outcome(row) for row in rows], len(fake.calls))
            show(
                f"{what} {generator} raising",
                lambda wrap=wrap, generator=generator: [
                    outcome(row) for row in execute_concurrent(wrap(FakeSession()), bad, results_generator=generator)
                ],
            )
        fake = FakeSession()
        rows = execute_concurrent_with_args(wrap(fake), "q", [(i,) for i in range(250)], concurrency=7)
        print(what, [outcome(row)[1][0][1][0] for row in rows] == list(range(250)), len(fake.calls))
        fake = FakeSession()
        print(what, execute_concurrent(wrap(fake), []), fake.calls)
    show("no concurrency", execute_concurrent, FakeSession(), good, concurrency=0)
    mock = MagicMock(spec=Session)
    mock.execute_async.side_effect = FakeSession().execute_async
    print([outcome(row) for row in execute_concurrent(mock, good)], mock.execute_async.call_count)


for part in (results, pages, applied, traces, concurrent):
    print("----", part.__name__)
    part()
