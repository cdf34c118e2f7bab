#!/bin/sh
# Instructions of one operation of a benchmark case, from two runs of different length, so that
# start-up cancels.
#
# usage: benches/callgrind.sh BENCH CASE     e.g. benches/callgrind.sh steps path/8/ring
# prints: CASE INSTRUCTIONS. The name must be that of one case only.
set -eu
cd "$(dirname "$0")/.."
binary=$(cargo bench -q --workspace --bench "$1" --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
measure() { # scale -> operations and instructions
    BENCH_REPS=1 BENCH_ONLY="$1" BENCH_SCALE="$2" \
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$binary" 2>&1 |
        awk '/ops=/ { sub(/.*ops=/, ""); ops = $1 } /Collected/ { print ops, $4 }'
}
{ measure "$2" 0.05; measure "$2" 0.1; } | awk -v name="$2" '
    NR == 1 { ops = $1; insns = $2 }
    NR == 2 { printf "%s %.1f\n", name, ($2 - insns) / ($1 - ops) }'
