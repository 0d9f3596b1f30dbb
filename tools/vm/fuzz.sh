#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make fuzz: fuzz the ABI of /dev/twheel in guests: on the kernel with the debugging
# options, guided by what is covered; then on Debian's stock kernel, which is much
# faster, with what that has found. The last line is "N passed, N failed".
#
#   SEED=N        other dice
#   TIME=SECONDS  how long each guest fuzzes (default 120)
#   CALLS=N       instead: as long as it takes for so many calls in all
#   KERNELS=      debug, stock, or both
#   REPLAY=PATH   run this program (or those of a folder) TIMES= times (default 100)
#   MERGE=1       renew tools/fuzz/corpus with what was found since
#   BROKEN=1      plant faults in the module, and see each of them found
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

seed=${SEED:-1} seconds=${TIME:-120} calls=${CALLS:-0} kernels=${KERNELS:-both}
times=${TIMES:-100}
work=$CACHE/fuzz
corpus=$ROOT/tools/fuzz/corpus
memory=$SCRATCH/memory
trap 'rm -f "$memory"; clean_up' EXIT

for value in "$seed" "$seconds" "$calls" "$times"; do
	[[ $value =~ ^[0-9]+$ ]] || die "$value is not a number" \
		"for example: make fuzz SEED=7 TIME=600"
done
case $kernels in
debug | stock | both) ;;
*) die "KERNELS: $kernels is none of debug, stock, both" ;;
esac

# build_for KDIR FOLDER OPTION...: the module
build_for() {
	local kdir=$1 folder=$2

	shift 2
	mkdir -p "$folder"
	cp -ru "$ROOT/module" "$ROOT/include" "$folder/"
	run_logged "$folder/build.log" "building the module to be fuzzed" \
		make -C "$kdir" M="$folder/module" -j"$(nproc)" "$@" modules
}

# Where a guest's memory is for a while: not on a disk, if it can be helped.
memory_file() {
	local free

	free=$(df --output=avail -k /dev/shm 2> /dev/null | tail -n 1) || :
	if [ "${free:-0}" -gt 2500000 ]; then
		mktemp /dev/shm/twheel.XXXXXX
	else
		echo "$SCRATCH/memory"
	fi
}

# guest NAME KERNEL MODULE LIMIT WORDS ARGUMENT...: fuzz; all is in $work/NAME then
guest() {
	local run=$work/$1 kernel=$2 module=$3 limit=$4 words=$5 start=$SECONDS
	local root=$SCRATCH/files

	rm -f "$memory"
	memory=$(memory_file)
	shift 5
	rm -rf "$root" "$run"
	mkdir -p "$root"/{modules,bin} "$run"
	cp "$module" "$root/modules/twheel.ko"
	cp "$work/tools/fuzz/fuzz" "$root/bin/"
	cp -r "$inputs" "$root/corpus"
	echo "$* /corpus" > "$root/arguments"
	"$ROOT/tools/vm/initramfs.sh" "$run/initrd" \
		"$ROOT/tools/vm/guest/fuzz.sh" "$root"
	touch "$run/results"
	"$ROOT/tools/vm/boot.sh" --kernel "$kernel" --initrd "$run/initrd" \
		--memory 1G --memory-file "$memory" --timeout "$limit" \
		--console "$run/console" --results "$run/results" \
		--append "oops=panic panic_on_warn=1 loglevel=8 nokaslr \
			softlockup_panic=1 sysctl.kernel.panic_on_rcu_stall=1 \
			watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120 \
			$words" &
	CHILD=$!
	watch_child grep -a '^#' "$run/results" || say "the end of the console:
$(tail -n 25 "$run/console" 2>/dev/null)"
	# What was running when it died.
	if ! grep -aq '^@over' "$run/results"; then
		mkdir -p "$run/last"
		"$work/tools/fuzz/fuzz" --extract "$memory" "$run/last" \
			> /dev/null || :
	fi
	rm -f "$memory"
	say "  done in $((SECONDS - start)) s; console: $run/console"
}

debug() {
	guest "$1" "$kernel/arch/x86/boot/bzImage" "$2" "$3" "" \
		--coverage "${@:4}"
}

need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev make python3 binutils
mkdir -p "$work"
kernel=$("$ROOT/tools/vm/kernel.sh" base debug)
lock_cache
mkdir -p "$work/tools"
run_logged "$work/tools.log" "building the fuzzer" \
	make -C "$ROOT/tools" -j"$(nproc)" OUT="$work/tools" "$work/tools/fuzz/fuzz"

# What guests begin with: the kept programs, and those found before.
inputs=$SCRATCH/inputs
mkdir -p "$inputs" "$work/found"
cp "$corpus"/* "$inputs/"

judge() {
	python3 "$ROOT/tools/vm/fuzz_verdict.py" "$work" "$@"
}

if [ -n "${BROKEN:-}" ]; then
	passed=0 failed=0
	while read -r name file change; do
		[ "$BROKEN" = 1 ] || [[ " $BROKEN " = *" $name "* ]] || continue
		rm -rf "$work/broken"
		mkdir -p "$work/broken"
		cp -r "$ROOT"/{module,include} "$work/broken/"
		sed -i "$change" "$work/broken/$file"
		! cmp -s "$ROOT/$file" "$work/broken/$file" ||
			die "$name does not change $file" \
			    "mend tools/fuzz/faults"
		make -C "$kernel" M="$work/broken/module" KCOV_INSTRUMENT=y \
			-j"$(nproc)" modules > "$work/broken.log" 2>&1 ||
			die "$name: does not compile" "see $work/broken.log"
		say "$name"
		debug "broken-$name" "$work/broken/module/twheel.ko" \
			$((seconds + 600)) --seed "$seed" \
			--seconds "$((seconds * 2))" --failures 1 2> /dev/null
		if finder=$(judge --finder "broken-$name"); then
			passed=$((passed + 1))
			echo "found: $name: $finder"
		else
			failed=$((failed + 1))
			echo "NOT FOUND: $name"
		fi
	done < <(grep -v '^#' "$ROOT/tools/fuzz/faults")
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
	exit
fi

module=$work/debug-module/module/twheel.ko
[ "$kernels" = stock ] ||
	build_for "$kernel" "$work/debug-module" KCOV_INSTRUMENT=y

if [ -n "${REPLAY:-}" ]; then
	[ -e "$REPLAY" ] || die "REPLAY: there is no $REPLAY"
	rm -rf "$inputs"
	mkdir "$inputs"
	cp -r "$REPLAY" "$inputs/"
	[ ! -d "$REPLAY" ] || inputs=$REPLAY
	say "replaying $REPLAY, $times times"
	debug replay "$module" 1800 --seconds 1200 --replay "$times"
	judge --module "$module" replay
	exit
fi

if [ -n "${MERGE:-}" ]; then
	find "$work/found" -type f -exec cp {} "$inputs/" \;
	say "looking for few among $(find "$inputs" -type f | wc -l) programs"
	debug merge "$module" 7200 --merge
	judge --module "$module" --merge "$corpus" merge
	rm -rf "$work/found"
	exit
fi

find "$work/found" -type f -exec cp {} "$inputs/" \;
runs=()
limits=(--seconds "$seconds")
if [ "$kernels" != stock ]; then
	say "fuzzing with KASAN and lockdep, guided by coverage, for $seconds s"
	debug debug "$module" $((seconds + 900)) --seed "$seed" "${limits[@]}"
	runs+=(debug)
	# The other guest goes on from what this one has found.
	judge --found "$work/found" debug > /dev/null || :
	find "$work/found" -type f -exec cp {} "$inputs/" \;
fi
if [ "$kernels" != debug ]; then
	stock_kernel
	build_for "$stock_headers" "$work/stock-module" KCOV_INSTRUMENT=n
	limit=$((seconds + 600))
	if [ "$calls" != 0 ]; then
		made=$(judge --count "${runs[@]}")
		calls=$((calls > made ? calls - made : 1))
		# A busy machine does some ten thousand in a second.
		limits=(--seconds 0 --calls "$calls")
		limit=$((calls / 2000 + 1200))
	fi
	say "fuzzing Debian's kernel $stock_release (at most $limit s)"
	guest stock "$stock_image" "$work/stock-module/module/twheel.ko" \
		"$limit" quiet --seed "$seed" "${limits[@]}"
	runs+=(stock)
fi
judge --module "$module" "${runs[@]}"
