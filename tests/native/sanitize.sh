#!/bin/sh
# The extensions under sanitizers. Builds them into a folder of their own (the normal build stays) and runs pytest on it.
#
#   tests/native/sanitize.sh                           the unit tests of the native core and the property tests
#   tests/native/sanitize.sh tests/unit/core -k codec  pytest's arguments instead
#
# SANITIZE=address,undefined   which sanitizers; "thread" for ThreadSanitizer
# ONLY=codec                   build just these extensions; the others are taken from the normal build as they are
# PY=.venv/bin/python          the interpreter
#
# The interpreter itself is not instrumented, so the sanitizer's runtime is loaded before it, and Python's own
# allocator is switched off: with it a read beyond a bytes object would hit another object of the same arena, unseen.
# Leaks are not reported (CPython frees little at exit); tests count objects and bytes instead.
set -eu

cd "$(dirname "$0")/../.."
PY=${PY:-.venv/bin/python}
SANITIZE=${SANITIZE:-address,undefined}
BUILD=build/sanitized/$(echo "$SANITIZE" | tr , -)
CXX=${CXX:-g++}

find build/sanitized -type l -delete 2>/dev/null || true
FASTCQL_DEBUG=1 FASTCQL_SANITIZE=$SANITIZE FASTCQL_ONLY=${ONLY:-} "$PY" setup.py --quiet \
    build --build-base "$BUILD/temp" --build-lib "$BUILD/lib"

if [ -n "${ONLY:-}" ]; then
    for plain in cassandra/_core/*.so; do  # links, so that the next full build does not take them for its own
        [ -e "$BUILD/lib/$plain" ] || ln -s "$PWD/$plain" "$BUILD/lib/$plain"
    done
fi

case $SANITIZE in
    *address*) runtime=libasan.so ;;
    *thread*) runtime=libtsan.so ;;
    *) runtime=libubsan.so ;;
esac
# libstdc++ comes along: a runtime that is loaded without it cannot intercept C++ exceptions.
LD_PRELOAD="$("$CXX" -print-file-name=$runtime) $("$CXX" -print-file-name=libstdc++.so)"
export LD_PRELOAD
export PYTHONMALLOC=malloc
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:abort_on_error=0:exitcode=99
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:exitcode=99

[ $# -gt 0 ] || set -- tests/unit/core tests/property
exec "$PY" -m pytest -p no:cacheprovider -o pythonpath="$BUILD/lib ." "$@"
