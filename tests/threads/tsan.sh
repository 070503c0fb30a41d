#!/usr/bin/env bash
# tests/threads under ThreadSanitizer, in an interpreter that is instrumented, too: its locks, critical sections and
# reference counts are known then, and each report is of a data race. Ends with 66 if there are any, and prints them.
#
#   tests/threads/tsan.sh                                all of tests/threads, in small sizes
#   tests/threads/tsan.sh tests/threads/test_results.py  pytest's arguments instead
#
# PY=.venv-3.13t/bin/python  a free-threaded Python that builds the extensions, and whose packages the tests use
# INSTRUMENTED=python        the interpreter for the tests, if it is not that of `.ci/pythons --tsan`
# FASTCQL_TURNS=20 and others: sizes, see size() of harness.py
set -euo pipefail

cd "$(dirname "$0")/../.."
PY=${PY:-.venv-3.13t/bin/python}
BUILD=build/sanitized/threads
VERSION=$("$PY" -c 'import sys; print("%d.%dt" % sys.version_info[:2])')
INSTRUMENTED=${INSTRUMENTED:-$(.ci/pythons --tsan "$VERSION")}
CLANG=$("$INSTRUMENTED" -c 'import sysconfig; print(sysconfig.get_config_var("CC").split()[0])')
CLANGXX=${CLANG/clang/clang++}

CC=$CLANG CXX=$CLANGXX LDSHARED="$CLANG -shared" LDCXXSHARED="$CLANGXX -shared" FASTCQL_SANITIZE=thread \
    "$PY" setup.py --quiet build --build-base "$BUILD/temp" --build-lib "$BUILD/lib"

: "${FASTCQL_STARTS:=10}" "${FASTCQL_READS:=8000}" "${FASTCQL_TURNS:=4}" "${FASTCQL_PLANS:=10}" "${FASTCQL_BLOCKS:=40}"
: "${FASTCQL_SCANS:=1}" "${FASTCQL_MODELS:=3}" "${FASTCQL_VALUES:=10000}"
export FASTCQL_STARTS FASTCQL_READS FASTCQL_TURNS FASTCQL_PLANS FASTCQL_BLOCKS FASTCQL_SCANS FASTCQL_MODELS FASTCQL_VALUES

# Reports go to files, as pytest keeps what is written to the descriptors. Children of a fork start threads.
rm -f "$BUILD"/report.*
TSAN_OPTIONS="log_path=$PWD/$BUILD/report suppressions=$PWD/tests/threads/tsan.supp exitcode=0 die_after_fork=0"
TSAN_OPTIONS+=" history_size=7 second_deadlock_stack=1 ${TSAN_EXTRA:-}"
export TSAN_OPTIONS
PYTHONPATH=$("$PY" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
export PYTHONPATH

[ $# -gt 0 ] || set -- tests/threads
status=0
"$INSTRUMENTED" -m pytest -p no:cacheprovider -o pythonpath="$BUILD/lib ." "$@" || status=$?
for report in "$BUILD"/report.*; do
    [ -s "$report" ] || continue # the pattern itself, or no report
    cat "$report"
    [ "$status" != 0 ] || status=66
done
exit "$status"
