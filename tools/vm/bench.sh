#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make bench: what operations cost on Debian's stock kernel, beside timer_list and
# hrtimer, in instructions: the guest's clock advances by one nanosecond an
# instruction, so that every run of one build prints the same, but for how hash and
# memory happen to lie. COUNTS= how many timers are pending.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

counts=${COUNTS:-1000 100000 1000000} limit=${TIMEOUT:-900}

say "instructions per operation, with $counts timers pending"
need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev make python3
lock_cache
stock_kernel

work=$CACHE/bench
build=$work/$stock_release
build_modules "$stock_headers" "$build"
mkdir -p "$build/tools"
cp -ru "$ROOT/tools/bench" "$build/tools/"
run_logged "$build/bench.log" "building the benchmark" \
	make -C "$stock_headers" M="$build/tools/bench" TWHEEL="$build" \
	KBUILD_EXTRA_SYMBOLS="$build/Module.symvers" modules

root=$SCRATCH/files
mkdir -p "$root/modules"
cp "$build/module/twheel.ko" "$build/tools/bench/twheel_bench.ko" \
	"$root/modules/"
echo "$counts" > "$root/counts"
"$ROOT/tools/vm/initramfs.sh" "$work/initrd" "$ROOT/tools/vm/guest/bench.sh" \
	"$root"
rm -f "$work/results"
run_logged "$work/boot.log" "running (at most $limit s)" \
	"$ROOT/tools/vm/boot.sh" --kernel "$stock_image" \
	--initrd "$work/initrd" --icount --memory 3G --timeout "$limit" \
	--results "$work/results" --console "$work/console" \
	--append "quiet loglevel=4 panic_on_warn=1 oops=panic"
python3 "$ROOT/tools/vm/bench_table.py" "$work/results" "$work/bench.json"
say "as data: $work/bench.json"
