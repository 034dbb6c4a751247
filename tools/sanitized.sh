#!/usr/bin/env bash
# sanitized.sh BUILD unit|fuzz [NAME]...: the tests of a build with sanitizers, one process each; stops at the first finding and shows it.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 kind=$2
shift 2
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=99:allocator_may_return_null=1 LSAN_OPTIONS=suppressions=$PWD/tools/leaks.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 TSAN_OPTIONS=halt_on_error=1:exitcode=99:suppressions=$PWD/tools/races.supp
case $kind in
  unit) all=$(cd "$build/tests/unit" && ls -d test_* | grep -v '\.' ) ;;
  fuzz) all=$(cd "$build/tests/fuzz" && ls -d fuzz_replay_* | grep -v '\.') ;;
esac
count=0
for test in $all; do
  name=${test#test_} name=${name#fuzz_replay_}
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  [ "$name" = ablate ] && continue  # waits for a time limit
  log=$(mktemp)
  argument=.
  rounds=
  if [ "$kind" = fuzz ]; then argument=tests/fuzz/corpus/$name rounds=${ROUNDS:-40}; fi
  if ! timeout "${LIMIT:-600}" "$build/tests/$kind/$test" "$argument" $rounds >"$log" 2>&1; then
    if grep -qE 'Sanitizer|runtime error' "$log"; then
      grep -E -A30 'Sanitizer|runtime error' "$log" | head -60
      echo "$test: a finding"
    else
      tail -30 "$log"
      echo "$test: failed"
    fi
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
  count=$((count + 1))
done
echo "$count tests of $build without a finding"
