#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make bench: the cost of operations on Debian's stock kernel. In the kernel it is compared
# with timer_list and hrtimer, in userspace with timerfd, POSIX timers and io_uring.
#
#   MODE=icount  in instructions: the guest's clock advances by one nanosecond an
#                instruction, and skips idle time. Runs of a build differ by little.
#   MODE=native  in nanoseconds of this machine itself: see native.sh
#   MODE=wheels  the same beside other wheels inside a program: see wheels.sh
#   COUNTS=      how many timers are pending
#   HALF=        kernel or user: only that half. Without it, the user half is for up to
#                100 000 timers: a million descriptors take hours
#   FIGURES=1    put the figures into the tables of comparison.md and README.md
#
# It compares with goals: see CONTRIBUTING.md for what a missed one means.
# shellcheck source=../test/vm/lib.sh
. "$(dirname "$0")/../test/vm/lib.sh"
# shellcheck source=build.sh
. "$ROOT/tools/bench/build.sh"

mode=${MODE:-icount} counts=${COUNTS:-1000 100000 1000000} half=${HALF:-both}

for count in $counts; do
	[[ $count =~ ^[1-9][0-9]{1,7}$ ]] ||
		die "COUNTS: $count is not a number from 10 to 99999999" \
			"for example: make bench COUNTS='1000 1000000'"
done
refuse_unknown MODE "$mode" icount native wheels
refuse_unknown HALF "$half" kernel user both
[ "$mode" = icount ] || exec "$ROOT/tools/bench/$mode.sh"

say "instructions per operation, with ${counts// /, } timers pending"
need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev liburing-dev libev-dev make python3
lock_cache
stock_kernel 6.1

work=$CACHE/bench
build=$work/$stock_release
build_modules "$stock_headers" "$build"
mirror "$build" tools/bench
rm -f "$build/tools/bench/Module.symvers"
run_logged "$build/bench.log" "building the benchmark" \
	make -C "$stock_headers" M="$build/tools/bench" TWHEEL="$build" \
	KBUILD_EXTRA_SYMBOLS="$build/Module.symvers" W=1 modules

build_tools "$work/tools"
build_life "$work" "$work/tools"
build_program device "$work" "$work/tools" "$ROOT/tools/cli/plan.c"

root=$SCRATCH/files
mkdir -p "$root"/{bin,modules}
cp "$build/module/twheel.ko" "$build/tools/bench/twheel_bench.ko" \
	"$root/modules/"
cp "$work/tools/cli/twheel" "$work/life" "$work/device" "$root/bin/"

# Interrupts and softirqs are off for long here, on purpose: keep the watchdogs quiet, and
# the clock in use.
quiet="nowatchdog rcupdate.rcu_cpu_stall_suppress=1 \
sysctl.kernel.hung_task_timeout_secs=0 workqueue.watchdog_thresh=0 tsc=reliable"
results=()
for count in $counts; do
	this_half=$half
	[ "$half" != both ] || [ "$count" -le 100000 ] || this_half=kernel
	# What takes long does not depend on how many there are.
	echo "$this_half $count $((count == 100000 ? 3600 : 0))" > "$root/half"
	"$ROOT/tools/test/vm/initramfs.sh" "$work/initrd" \
		"$ROOT/tools/bench/guest.sh" "$root"
	rm -f "$work/results-$count"
	# With a million timers, one row takes minutes, and on a busy machine a quarter of an hour.
	run_logged "$work/boot.log" "$count timers" \
		"$ROOT/tools/test/vm/boot.sh" --kernel "$stock_image" \
		--initrd "$work/initrd" --icount --memory 4G --patience 3600 \
		--results "$work/results-$count" \
		--console "$work/console" \
		--append "quiet loglevel=4 panic_on_warn=1 oops=panic $quiet"
	results+=("$work/results-$count")
done
python3 "$ROOT/tools/bench/table.py" icount "$work/icount.json" "${results[@]}"
say "as data: $work/icount.json"
[ -z "${FIGURES:-}" ] || python3 "$ROOT/tools/bench/figures.py" --take "$work/icount.json"
