#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make fuzz: random programs of calls on /dev/twheel, and a model that says what each call
# must give: fuzz_test of make check, but longer, and on three kernels. One has the debugging
# options. One is Debian's stock kernel, which is much faster. The third one is that with coarse
# timers, as on machines without good clocks. The last line is "N passed, N failed".
#
#   SEED=N         other programs
#   TIME=SECONDS   how long each guest fuzzes (default 120)
#   CALLS=N        instead: until each guest has made so many calls
#   KERNELS=       some of: debug stock coarse (default: all)
#   REPLAY=PROGRAM run this program TIMES= times (default 100), on the debug kernel
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

export SEED=${SEED:-1} TIME=${TIME:-120} CALLS=${CALLS:-} REPLAY=${REPLAY:-} TIMES=${TIMES:-}
for value in SEED TIME CALLS TIMES; do
	[[ ${!value:-0} =~ ^[0-9]+$ ]] || die "$value=${!value} is not a number" \
		"for example: make fuzz SEED=7 TIME=600"
done
kernels=${KERNELS:-debug stock coarse}
refuse_unknown kernel "$kernels" debug stock coarse
[ -z "$CALLS" ] || TIME=0
[ -z "$REPLAY" ] || kernels=debug
# It watches its workers itself.
export TWHEEL_TEST_LIMIT_S=1000000

passed=0 failed=0
for kernel in $kernels; do
	case $kernel in
	debug) row=debug-6.1 ;;
	stock) row=stock-6.1 ;;
	coarse) row=lowres-6.1 ;;
	esac
	"$ROOT/tools/test/vm/row.sh" "$row" fuzz_test > "$SCRATCH/verdict" &
	CHILD=$!
	watch_child false || :
	cat "$SCRATCH/verdict"
	# The figures, and what a replay has shown.
	if [ -n "$REPLAY" ]; then what=; else what=fuzz; fi
	tr -d '\r' < "$CACHE/matrix/$row/run-half-1/results" | grep -a "^# $what" | tail -n 500 || :
	SEED=$((SEED + 1000))
	read -r p _ f _ < <(tail -n 1 "$SCRATCH/verdict" | grep ' passed, ') || p=0 f=1
	passed=$((passed + p)) failed=$((failed + f))
done
verdict
