# Everything a developer or CI runs. `make demo` and `make test` need nothing but make and a Python 3.10 or newer:
# they install what is missing (as root on Debian and Ubuntu) or say what to install.

find-python = $(shell .ci/pythons --installed $(1))

PYTHON ?= $(or $(call find-python,3.11),python3)
OTHER_VERSIONS := 3.10 3.12 3.13 3.13t
# Not every machine can have these: `make test-versions` names those on which nothing ran.
NEWEST_VERSIONS := 3.14 3.14t 3.15 3.15t
VERSIONS := $(OTHER_VERSIONS) $(NEWEST_VERSIONS)
# A failure on a version between these is rare: `make test-versions` finds it.
OLDEST := $(firstword $(foreach version,$(filter-out %t,$(VERSIONS)),$(if $(call find-python,$(version)),$(version))))
NEWEST := $(lastword $(filter-out %t,$(NEWEST_VERSIONS)))

# Compiled test modules are kept: each of the workers of each run would rewrite the assertions of all modules again.
unexport PYTHONDONTWRITEBYTECODE

PY := .venv/bin/python
RESULTS := build/results
# $(1): name of the run; the rest are pytest's arguments.
pytest = -m pytest --junitxml=$(RESULTS)/$(1).xml
# tests that have runs of their own
NO_SERVER := $(addprefix --ignore=tests/,native fuzz docs test_security_lint.py)
# folders in which no test may use a real server (tests/conftest.py): not read where only tests with one run
NO_SERVER_IN := $(addprefix --ignore=tests/,unit property native docs threads typing)
# $(1): how many at a time; for two cores four, as half of the time of a unit test is waiting
spread = -n $(1) --dist loadfile
# what calls the native engine, or is called by it; the rest of the unit tests is plain Python, where sanitizers see nothing
NATIVE_USERS := $(addprefix tests/unit/,core wire net routing session) tests/property
# AddressSanitizer's allocator is not fork-safe before GCC 14: a child waits for a lock that another thread held in the parent
NO_FORKS := --ignore-glob='*/test_fork*.py'
# seconds for each test of tests/fuzz, two at a time: a minute in all, three minutes, an hour
FUZZ_CI := 4
FUZZ_SHORT := 12
FUZZ_LONG := 300
# tests of other Pythons: those that take long run only if what they test depends on the version
OF_VERSION = not server and (not long or versions)
# tests of data tools beside a server that they share
fuzz = $(PY) -m tests.servers run -- $(PY)
# $(1): the part of the work that begins now; the summary says how long each took
begin = @mkdir -p $(RESULTS) && echo "$$(date +%s) $(1)" >> $(RESULTS)/begun

ifneq ($(TOGETHER),yes)
.NOTPARALLEL:
endif
# two targets at the same time, of which one leaves the processor to the other for much of its time
together = @+$(MAKE) --no-print-directory -j 2 --output-sync=target TOGETHER=yes RESULTS=$(RESULTS)

.PRECIOUS: .venv-%/ready
.PHONY: build demo demo-scylla test test-all lint test-native test-native-sanitized test-unit test-unit-long test-threads \
	test-threads-tsan test-versions test-integration test-integration-long test-ecosystem test-distributed docs bench compare drill \
	soak soak-load soak-signals soak-fuzz fuzz sanitize coverage wheels clean help \
	lint-and-docs native-and-servers build-tools server-tools prometheus-tools fresh-results $(addprefix unit-,$(VERSIONS)) $(addprefix try-,$(NEWEST_VERSIONS))

build: .venv/ready  ## the driver, in place, for .venv
	$(call begin,build)
	$(PY) setup.py --quiet build_ext --inplace

# The environment of the tests, if it exists; else one with the few packages that the demos need.
DEMO_VENV := $(if $(wildcard .venv/ready),.venv,.venv-demo)

demo: $(DEMO_VENV)/ready  ## the driver at work on a real Cassandra; on the simulated cluster where there is no Java
	$(DEMO_VENV)/bin/python setup.py --quiet build_ext --inplace
	@.ci/tools server || echo "Without Java the demo runs on the simulated cluster."
	@$(DEMO_VENV)/bin/python -m benchmarks.demo

demo-scylla: $(DEMO_VENV)/ready  ## tablets and shards: each request at the CPU core that owns its row, on the simulated cluster
	$(DEMO_VENV)/bin/python setup.py --quiet build_ext --inplace
	@$(DEMO_VENV)/bin/python -m benchmarks.demo_scylla

test: RESULTS := build/results/test
test: fresh-results build lint-and-docs test-native test-unit test-integration  ## ten minutes: lint, types, native and unit tests, one real server, the documentation
	@$(PY) -m tests.summary $(RESULTS)

test-all: RESULTS := build/results/all
test-all: FUZZ_SHORT := $(FUZZ_CI)
test-all: fresh-results build native-and-servers test-unit-long sanitize $(addprefix unit-,$(filter-out $(NEWEST),$(OLDEST))) try-$(NEWEST) fuzz  ## what make test leaves out: long tests, sanitizers, other Pythons, several servers
	@$(PY) -m tests.summary $(RESULTS)

lint-and-docs: build
	$(together) lint docs

native-and-servers: build server-tools
	$(together) test-native-sanitized test-integration-long

lint: build  ## style, types, security rules, and the workflows of CI
	$(call begin,lint)
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/zizmor --offline --quiet .github
	$(PY) $(call pytest,lint) -q tests/test_security_lint.py

test-unit: build  ## what needs no server, on the main Python
	$(call begin,unit)
	$(PY) $(call pytest,unit) $(call spread,4) -m "not server and not ecosystem and not long" $(NO_SERVER)

test-unit-long: build prometheus-tools  ## the same, of tests that take long
	$(call begin,unit-long)
	$(PY) $(call pytest,unit-long) $(call spread,4) -m "not server and not ecosystem and long" $(NO_SERVER)

test-threads: .venv-3.13t/ready  ## eight threads use each public object at the same time, without the GIL
	$(call begin,threads)
	.venv-3.13t/bin/python setup.py --quiet build_ext --inplace
	.venv-3.13t/bin/python $(call pytest,threads) tests/threads

test-threads-tsan: .venv-3.13t/ready  ## the same under ThreadSanitizer, in an interpreter that clang instruments
	$(call begin,threads-tsan)
	PY=.venv-3.13t/bin/python tests/threads/tsan.sh --junitxml=$(RESULTS)/threads-tsan.xml tests/threads

test-native: build  ## the C++ core alone
	$(call begin,native)
	$(PY) $(call pytest,native) -n 2 --dist loadgroup -m "not long" tests/native

test-native-sanitized: build  ## the C++ core alone, under sanitizers
	$(call begin,native-sanitized)
	$(PY) $(call pytest,native-sanitized) -n 2 --dist loadgroup -m long tests/native

test-integration: build server-tools  ## a real server
	$(call begin,jars)
	$(PY) -m tests.servers resolve
	$(call begin,integration)
	$(PY) -m tests.servers run -- $(PY) $(call pytest,integration) $(call spread,3) -m "server and not ecosystem and not long" --ignore=tests/fuzz $(NO_SERVER_IN)

test-integration-long: build server-tools  ## several servers that are stopped and started, and other kinds of them
	$(call begin,jars)
	$(PY) -m tests.servers resolve
	$(call begin,integration-long)
	$(PY) -m tests.servers run --timeout 60s -- $(PY) $(call pytest,integration-long) -n 3 --dist loadgroup --no-loadscope-reorder -m "server and not ecosystem and long" --ignore=tests/fuzz $(NO_SERVER_IN)

fuzz: build server-tools  ## three minutes of differential fuzzing of the data tools; FUZZ_SECONDS=n per test
	$(PY) -m tests.servers resolve
	$(call begin,fuzz)
	FUZZ_SECONDS=$(or $(FUZZ_SECONDS),$(FUZZ_SHORT)) $(fuzz) $(call pytest,fuzz) $(call spread,2) tests/fuzz

test-ecosystem: build server-tools  ## packages and programs that use a Cassandra driver, unchanged, on a real server
	$(PY) -m tests.servers resolve
	$(PY) $(call pytest,ecosystem) tests/ecosystem

test-distributed: build .venv-distributed/ready server-tools  ## scans on a Dask and a Ray of this machine, whose workers are killed
	$(PY) -m tests.servers resolve
	nice .venv-distributed/bin/python $(call pytest,distributed) tests/distributed

test-versions: OF_VERSION := not server
test-versions: $(addprefix unit-,$(OTHER_VERSIONS)) $(addprefix try-,$(NEWEST_VERSIONS))  ## all unit tests on all other Pythons; builds those that are not installed

$(addprefix try-,$(NEWEST_VERSIONS)): try-%:
	@.ci/pythons $* >/dev/null; case $$? in \
	0) $(MAKE) --no-print-directory RESULTS=$(RESULTS) OF_VERSION="$(OF_VERSION)" unit-$* ;; \
	3) echo "NOT RUN: unit tests on Python $*" >&2 ;; \
	*) exit 1 ;; \
	esac

$(addprefix unit-,$(VERSIONS)): unit-%: .venv-%/ready
	$(call begin,unit-$*)
	.venv-$*/bin/python setup.py --quiet build_ext --inplace
	.venv-$*/bin/python $(call pytest,unit-$*) $(call spread,4) -m "$(OF_VERSION)" tests/unit

coverage: build prometheus-tools  ## lines and branches of the Python code that tests without servers run, lines of the C++ core
	rm -rf build/coverage
	$(PY) -m coverage run --rcfile=tests/coverage.ini -m pytest $(call spread,4) -m "not server and not ecosystem" \
		$(NO_SERVER) --ignore=tests/compat/test_imports.py
	$(PY) -m coverage combine --rcfile=tests/coverage.ini --quiet
	$(PY) -m coverage report --rcfile=tests/coverage.ini
	FASTCQL_COVERAGE=1 $(PY) -m pytest -n 2 --dist loadgroup -m "not long" tests/native
	FASTCQL_COVERAGE=1 $(PY) -m tests.native.covered

wheels: .venv-wheels/ready  ## wheels for all Pythons and kinds of Linux, checked, in dist/; ONLY="cp314t cp311-*": those only
	.venv-wheels/bin/python -m tools.wheels $(if $(ONLY),,--twice) $(ONLY)

docs: build  ## HTML in docs/_build; warnings are errors; everything public is in the API reference
	$(call begin,docs)
	$(PY) -m sphinx -q -W --keep-going -b html docs docs/_build
	$(PY) $(call pytest,docs) -q tests/docs

sanitize: .venv/ready  ## unit and property tests under AddressSanitizer and UBSan
	$(call begin,sanitize)
	PY=$(PY) tests/native/sanitize.sh --junitxml=$(RESULTS)/sanitize.xml $(call spread,4) $(NO_FORKS) $(NATIVE_USERS)

bench: build  ## the benchmarks of benchmarks/README.rst
	$(PY) -m benchmarks

compare: build server-tools  ## all drivers beside each other: figures, tables and pictures of docs/performance.rst
	$(PY) -m tests.servers resolve
	$(PY) -m benchmarks compare

drill: build server-tools  ## real nodes are killed, stopped, cut off and restarted under load; beside scylla-driver
	$(PY) -m benchmarks.drill

soak: soak-load soak-signals soak-fuzz  ## three to four hours: these parts; nothing is lost, doubled or changed, nothing grows

soak-load: build  ## results, lives, tablets, ten million rows and requests, ten minutes of faults
	$(PY) -m benchmarks.soak_results
	$(PY) -m benchmarks.soak_cycles
	$(PY) -m benchmarks.soak_tablets
	$(PY) -m benchmarks.soak_scan
	$(PY) -m benchmarks.soak_requests
	$(PY) -m benchmarks.soak_chaos

soak-signals: build  ## 100,000 interrupts of every public call
	$(PY) -m tests.signals

soak-fuzz: build server-tools  ## an hour of differential fuzzing, two tests at a time
	$(PY) -m tests.servers resolve
	FUZZ_SECONDS=$(FUZZ_LONG) $(fuzz) $(call pytest,soak-fuzz) $(call spread,2) tests/fuzz

clean:  ## what the build and the tests made; the virtual environments stay
	rm -rf build dist docs/_build .servers cassandra/_core/*.so $(wildcard *.egg-info)

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## */\1\t/p' Makefile | expand -t 20

fresh-results:
	@rm -rf $(RESULTS)

build-tools:
	$(call begin,tools)
	@.ci/tools build $(PYTHON)

server-tools:
	$(call begin,server-tools)
	@.ci/tools server

prometheus-tools:
	$(call begin,prometheus-tools)
	@.ci/tools prometheus || echo "Without Prometheus its tests are skipped."

.venv/ready: pyproject.toml | build-tools
	$(call make-venv,$(PYTHON),.venv,dev)

.venv-demo/ready: pyproject.toml | build-tools
	$(call make-venv,$(PYTHON),.venv-demo,demo)

.venv-distributed/ready: pyproject.toml | build-tools
	$(call make-venv,$(PYTHON),.venv-distributed,distributed)

.venv-wheels/ready: pyproject.toml | build-tools
	@.ci/tools wheels
	$(call make-venv,$(PYTHON),.venv-wheels,wheels)

.venv-%/ready: pyproject.toml | build-tools
	$(call make-venv,python=$$(.ci/pythons $*) && $$python,.venv-$*,$(if $(filter %t,$*),test-free-threaded,test))

# $(1): command of the interpreter, $(2): folder, $(3): dependency group of pyproject.toml
define make-venv
$(call begin,$(2))
$(1) -m venv $(2)
$(2)/bin/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
$(2)/bin/python -m pip install --quiet --prefer-binary --no-compile --group $(3)
@$(2)/bin/python -m compileall -qq -j 0 $(2)/lib || true  # some are not for this Python
@touch $(2)/ready
endef
