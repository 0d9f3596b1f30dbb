#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make fuzz: random programs of calls on /dev/twheel, and a model that says what each call
# must give. There are three guests. One has the kernel with the debugging options. One has
# Debian's stock kernel, which is much faster. The third one has that with coarse timers, as
# on machines without good clocks. The last line is "N passed, N failed".
#
#   SEED=N         other programs
#   TIME=SECONDS   how long each guest fuzzes (default 120)
#   CALLS=N        instead: as long as it takes for so many calls in all
#   KERNELS=       some of: debug stock coarse (default: all)
#   REPLAY=PROGRAM run this program TIMES= times (default 100), on the debug kernel
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

seed=${SEED:-1} seconds=${TIME:-120} calls=${CALLS:-0} kernels=${KERNELS:-debug stock coarse}
times=${TIMES:-100}
work=$CACHE/fuzz

for value in "$seed" "$seconds" "$calls" "$times"; do
	[[ $value =~ ^[0-9]+$ ]] || die "$value is not a number" \
		"for example: make fuzz SEED=7 TIME=600"
done
refuse_unknown kernel "$kernels" debug stock coarse

# Expensive in an emulated guest, and irrelevant to the module: mitigations, memory that is
# cleared at allocation, security modules, pressure statistics, auditing.
light="loglevel=5 mitigations=off init_on_alloc=0 lsm= psi=0 audit=0"

# set_kernel NAME: sets image, kdir and words
set_kernel() {
	# shellcheck disable=SC2154 # by stock_kernel
	case $1 in
	debug) image=$kernel/arch/x86/boot/bzImage kdir=$kernel words=loglevel=8 ;;
	*) image=$stock_image kdir=$stock_headers words=$light ;;
	esac
	# Timers expire at the tick only, every 4 ms: many at once.
	[ "$1" != coarse ] || words+=" highres=off nohz=off"
}

# build_for FOLDER: the module, for $kdir
build_for() {
	mirror "$1" module include
	run_logged "$1/build.log" "building the module to be fuzzed" \
		make -C "$kdir" M="$1/module" -j"$(nproc)" modules
}

# guest NAME MODULE ARGUMENT...: fuzz; all is in $work/NAME then
guest() {
	local run=$work/$1 root=$SCRATCH/files start=$SECONDS

	rm -rf "$root" "$run"
	mkdir -p "$root"/{modules,bin} "$run"
	cp "$2" "$root/modules/twheel.ko"
	cp "$work/tools/test/fuzz/fuzz" "$root/bin/"
	echo "${*:3}" > "$root/arguments"
	"$ROOT/tools/test/vm/initramfs.sh" "$run/initrd" \
		"$ROOT/tools/test/vm/guest/fuzz.sh" "$root"
	touch "$run/results"
	"$ROOT/tools/test/vm/boot.sh" --kernel "$image" --initrd "$run/initrd" --memory 1G \
		--console "$run/console" --results "$run/results" \
		--append "oops=panic panic_on_warn=1 nokaslr \
			sysctl.kernel.panic_on_rcu_stall=1 $PATIENT_WORDS $clock $words" &
	CHILD=$!
	watch_child grep -a '^#' "$run/results" || say "the end of the console:
$(tail -n 25 "$run/console" 2>/dev/null)"
	say "  done in $((SECONDS - start)) s; console: $run/console"
}

# calls_of RUN...: how many calls were made
calls_of() {
	cat /dev/null "${@/%//results}" | tr -d '\r' | sed -n 's/^@figures.* calls=\([0-9]*\).*/\1/p' |
		awk '{ n += $1 } END { print n + 0 }'
}

# without TEXT: whether the guest has not said that. Shows it, and what follows
without() {
	! sed -n "/$1/,/^@/p" "$run/lines" | head -n 60 | grep .
}

# judge NAME...: what guests have left in $work/NAME. The task that a kernel complains of has the
# number of its program.
judge() {
	local folder=$work name run work

	for name; do
		run=$folder/$name
		tr -d '\r' < "$run/results" > "$run/lines"
		: > "$run/log"
		sed -n "s/^@begin \([^ ]*\).*/$name, Linux \1/p; s/^@figures/  /p" "$run/lines"
		work=$run
		check "$name: the guest came to its end" awk '/^@complete/ { ended = 1 }
			/^@over/ && ended { over = 1 } END { exit !over }' "$run/lines"
		check "$name: it has no errors of its own" without '^# fuzz: '
		check "$name: calls were made" [ "$(calls_of "$run")" != 0 ]
		check "$name: no memory is leaked" without 'unreferenced object'
		check "$name: every answer is as twheel(4) says" without '^@failure'
		judge_console "$name" "$run/console"
		sed -n 's/.*Comm: fuzz\([0-9]*\).*/it ran: make fuzz REPLAY=\1/p' "$run/console" | sort -u
	done
	verdict
}

need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev liburing-dev make python3
mkdir -p "$work"
kernel=$("$ROOT/tools/test/vm/kernel.sh" base debug)
lock_cache
mkdir -p "$work/tools"
run_logged "$work/tools.log" "building the fuzzer" \
	make -C "$ROOT/tools" -j"$(nproc)" OUT="$work/tools" "$work/tools/test/fuzz/fuzz"
clock=$(clock_words "$work")

if [ -n "${REPLAY:-}" ]; then
	set_kernel debug
	build_for "$work/debug-module"
	say "replaying program $REPLAY, $times times"
	guest replay "$work/debug-module/module/twheel.ko" --seed "$seed" \
		--replay "$REPLAY" --times "$times"
	judge replay
	exit
fi

runs=() left=$(wc -w <<< "$kernels")
[ "$kernels" = debug ] || stock_kernel
for on in $kernels; do
	set_kernel "$on"
	limits=(--seconds "$seconds")
	# The debug kernel is slow: it does what it does in that time.
	if [ "$calls" != 0 ] && { [ "$on" != debug ] || [ "$left" = 1 ]; }; then
		made=$(calls_of "${runs[@]/#/$work/}")
		share=$((calls > made ? (calls - made + left - 1) / left : 1))
		limits=(--seconds 0 --calls "$share")
	fi
	left=$((left - 1))
	build_for "$work/$on-module"
	say "fuzzing, $on"
	guest "$on" "$work/$on-module/module/twheel.ko" \
		--seed $((seed + 1000 * ${#runs[@]})) "${limits[@]}"
	runs+=("$on")
done
judge "${runs[@]}"
