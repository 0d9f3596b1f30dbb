#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make bench MODE=native: nanoseconds of this machine itself, nothing of it emulated. User-mode
# Linux runs the kernel, and the program that uses the device, at the machine's own speed.
#
#   COUNTS=   how many timers are pending
#   ROUNDS=   how often each figure is measured, the peers taking turns
#   FIGURES=1 put the figures into the tables of README.md and comparison.md
#
# User-mode Linux is 7.2, with the locks of a machine with many CPUs, on one CPU. Operations
# are loops with interrupts off. Expiries are left out: there an interrupt is a signal of the
# host, and costs more than the expiry. Use a quiet machine; other load is shown.
# shellcheck source=../test/vm/lib.sh
. "$(dirname "$0")/../test/vm/lib.sh"
# shellcheck source=build.sh
. "$ROOT/tools/bench/build.sh"

counts=${COUNTS:-1000 100000 1000000} rounds=${ROUNDS:-}

say "nanoseconds per operation, with ${counts// /, } timers pending"
need busybox-static cpio kmod gcc libc6-dev libev-dev liburing-dev make python3
kernel=$("$ROOT/tools/test/vm/kernel.sh" --series 7.2 --um um um-bench)
lock_cache
work=$CACHE/bench
build=$work/native
mirror "$build" Kbuild module include kunit tools/bench
rm -f "$build/tools/bench/Module.symvers"
run_logged "$work/modules.log" "building the module" \
	make -C "$kernel" M="$build" -j"$(nproc)" ARCH=um modules
run_logged "$work/bench.log" "building the benchmark" \
	make -C "$kernel" M="$build/tools/bench" TWHEEL="$build" ARCH=um \
	KBUILD_EXTRA_SYMBOLS="$build/Module.symvers" modules
mkdir -p "$work/tools"
run_logged "$work/tools.log" "building the library" \
	make -C "$ROOT/tools" OUT="$work/tools" lib
build_life "$work" "$work/tools"

# The guest's root is a folder of this machine.
root=$SCRATCH/root
mkdir -p "$root"/{bin,modules} "$SCRATCH/files" "$SCRATCH/um"
"$ROOT/tools/test/vm/initramfs.sh" "$SCRATCH/initrd" "$ROOT/tools/bench/native-guest.sh" \
	"$SCRATCH/files"
(cd "$root" && cpio -i --quiet < "$SCRATCH/initrd")
cp "$build/module/twheel.ko" "$build/tools/bench/twheel_bench.ko" "$root/modules/"
cp "$work/life" "$root/bin/"

results=()
for count in $counts; do
	# A short run is disturbed more easily: repeat it more often.
	times=${rounds:-$((count > 5000000 ? 3 : count > 200000 ? 7 : count > 10000 ? 21 : 101))}
	out=$work/native-$count
	show_load > "$out"
	run_logged "$out.log" "$count timers in the kernel, $times times" \
		"$kernel/linux" mem=$((count > 5000000 ? 6 : 3))G root=host \
		rootfstype=hostfs rootflags="$root" rw init=/init con=null con0=null,fd:1 panic=-1 \
		ignore_loglevel uml_dir="$SCRATCH/um/" seccomp=on ncpus=1 \
		rcupdate.rcu_cpu_stall_suppress=1 count="$count" rounds="$times"
	tr -d '\r' < "$out.log" | sed -n 's/.*bench: //p' >> "$out"
	# Its last line is the verdict.
	sed -i "\$i $(show_load)" "$out"
	results+=("$out")
done
python3 "$ROOT/tools/bench/table.py" native "$work/native.json" "${results[@]}"
[ -z "${FIGURES:-}" ] || python3 "$ROOT/tools/bench/figures.py" --take "$work/native.json"
say "as data: $work/native.json"
