#!/bin/sh
# Fails if a case of benches/gate.txt needs more instructions than allowed there.
# Counts, unlike times, are the same on a busy machine; they do depend on the compiler.
set -eu
cd "$(dirname "$0")"
if ! command -v valgrind >/dev/null; then
    echo "gate: valgrind is not installed, skipped"
    exit 0
fi
failed=0
while read -r bench case limit; do
    case $bench in '' | '#'*) continue ;; esac
    count=$(./callgrind.sh "$bench" "$case" | awk '{ print $2 }')
    if [ -n "$count" ] && awk -v a="$count" -v b="$limit" 'BEGIN { exit !(a <= b) }'; then
        echo "ok      $bench $case: $count instructions, $limit allowed"
    else
        echo "ABOVE   $bench $case: ${count:-no} instructions, $limit allowed"
        failed=1
    fi
done <gate.txt
exit $failed
