#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make fuzz: fuzz the ABI of /dev/twheel in guests: on the kernel with the debugging
# options, guided by what is covered; then on Debian's stock kernel, which is much
# faster, with what that has found; and again on that one with coarse timers, which are
# those of machines without good clocks. The last line is "N passed, N failed".
#
#   SEED=N        other dice
#   TIME=SECONDS  how long each guest fuzzes (default 120)
#   CALLS=N       instead: as long as it takes for so many calls in all
#   KERNELS=      some of: debug stock coarse (default: all)
#   REPLAY=PATH   run this program (or those of a folder) TIMES= times (default 100)
#   MERGE=1       renew tools/test/fuzz/corpus with what was found since
#   BROKEN=1      plant faults in the module, and see each of them found
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

seed=${SEED:-1} seconds=${TIME:-120} calls=${CALLS:-0} kernels=${KERNELS:-debug stock coarse}
times=${TIMES:-100}
work=$CACHE/fuzz
corpus=$ROOT/tools/test/fuzz/corpus
memory=$SCRATCH/memory
trap 'rm -f "$memory"; clean_up' EXIT

for value in "$seed" "$seconds" "$calls" "$times"; do
	[[ $value =~ ^[0-9]+$ ]] || die "$value is not a number" \
		"for example: make fuzz SEED=7 TIME=600"
done
for on in $kernels; do
	[[ $on =~ ^(debug|stock|coarse)$ ]] ||
		die "KERNELS: $on is none of debug, stock, coarse"
done

# Expensive in an emulated guest, and irrelevant to the module: mitigations, memory that is
# cleared at allocation, security modules, pressure statistics, auditing.
light="mitigations=off init_on_alloc=0 lsm= psi=0 audit=0"

# build_for KDIR FOLDER OPTION...: the module
build_for() {
	local kdir=$1 folder=$2

	shift 2
	mirror "$folder" module include
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

# guest NAME KERNEL MODULE WORDS ARGUMENT...: fuzz; all is in $work/NAME then
guest() {
	local run=$work/$1 kernel=$2 module=$3 words=$4 start=$SECONDS
	local root=$SCRATCH/files

	rm -f "$memory"
	memory=$(memory_file)
	shift 4
	rm -rf "$root" "$run"
	mkdir -p "$root"/{modules,bin} "$run"
	cp "$module" "$root/modules/twheel.ko"
	cp "$work/tools/test/fuzz/fuzz" "$root/bin/"
	cp -r "$inputs" "$root/corpus"
	echo "$* /corpus" > "$root/arguments"
	"$ROOT/tools/test/vm/initramfs.sh" "$run/initrd" \
		"$ROOT/tools/test/vm/guest/fuzz.sh" "$root"
	touch "$run/results"
	"$ROOT/tools/test/vm/boot.sh" --kernel "$kernel" --initrd "$run/initrd" \
		--memory 1G --memory-file "$memory" \
		--console "$run/console" --results "$run/results" \
		--append "oops=panic panic_on_warn=1 loglevel=8 nokaslr \
			sysctl.kernel.panic_on_rcu_stall=1 $PATIENT_WORDS \
			$clock $words" &
	CHILD=$!
	watch_child grep -a '^#' "$run/results" || say "the end of the console:
$(tail -n 25 "$run/console" 2>/dev/null)"
	# The programs that were running when it died.
	if ! grep -aq '^@over' "$run/results"; then
		mkdir -p "$run/last"
		"$work/tools/test/fuzz/fuzz" --extract "$memory" "$run/last" \
			> /dev/null || :
	fi
	rm -f "$memory"
	say "  done in $((SECONDS - start)) s; console: $run/console"
}

debug() {
	guest "$1" "$kernel/arch/x86/boot/bzImage" "$2" "" \
		--coverage "${@:3}"
}

stock() {
	guest "$1" "$stock_image" "$2" "loglevel=5 $light" "${@:3}"
}

# Timers expire at the tick only, every 4 ms: many at once.
coarse() {
	guest "$1" "$stock_image" "$2" "loglevel=5 $light highres=off nohz=off" "${@:3}"
}

need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev make python3 binutils
mkdir -p "$work"
kernel=$("$ROOT/tools/test/vm/kernel.sh" base debug)
lock_cache
mkdir -p "$work/tools"
run_logged "$work/tools.log" "building the fuzzer" \
	make -C "$ROOT/tools" -j"$(nproc)" OUT="$work/tools" "$work/tools/test/fuzz/fuzz"
clock=$(clock_words "$work")

# Guests begin with the corpus, and with the programs found before.
inputs=$SCRATCH/inputs
mkdir -p "$inputs" "$work/found"
cp "$corpus"/* "$inputs/"

judge() {
	python3 "$ROOT/tools/test/vm/fuzz_verdict.py" "$work" "$@"
}

# sound_source KDIR FOLDER OPTION: build the sources without a fault. A fault then costs
# only the files that it changes.
sound_source() {
	build_for "$1" "$2" "$3"
}

# broken NAME KERNEL FILE CHANGE: plant it, and see it found
broken() {
	local name=$1 on=$2 file=$3 change=$4 finder status=0
	local source=$work/broken-module-$on
	local run=(--seed "$seed" --seconds "$seconds" --failures 1)

	[ -e "$source/$file" ] || die "tools/test/fuzz/faults: $name: no $on or no $file" \
		"mend that line"
	sed -i "$change" "$source/$file"
	! cmp -s "$ROOT/$file" "$source/$file" ||
		die "$name does not change $file" "mend tools/test/fuzz/faults"
	make -C "${kdirs[$on]}" M="$source/module" "${options[$on]}" -j"$(nproc)" \
		modules > "$work/broken.log" 2>&1 < /dev/null ||
		die "$name: does not compile" "see $work/broken.log"
	say "$name, on the $on kernel"
	"$on" "broken-$name" "$source/module/twheel.ko" "${run[@]}" \
		2> /dev/null
	cp "$ROOT/$file" "$source/$file"
	finder=$(judge --finder "broken-$name") || status=$?
	case $status in
	0) echo "found: $name: $finder" ;;
	1) echo "NOT FOUND: $name: $finder" ;;
	*) die "$name: $finder" "see $work/broken-$name/console" ;;
	esac
	return $status
}

if [ -n "${BROKEN:-}" ]; then
	passed=0 failed=0
	stock_kernel
	declare -A kdirs=([debug]=$kernel [stock]=$stock_headers)
	declare -A options=([debug]=KCOV_INSTRUMENT=y [stock]=KCOV_INSTRUMENT=n)
	for on in debug stock; do
		sound_source "${kdirs[$on]}" "$work/broken-module-$on" "${options[$on]}"
	done
	while read -r name on file change; do
		[ "$BROKEN" = 1 ] || [[ " $BROKEN " = *" $name "* ]] || continue
		if broken "$name" "$on" "$file" "$change"; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
		fi
	done < <(grep -v '^#' "$ROOT/tools/test/fuzz/faults")
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
	exit
fi

module=$work/debug-module/module/twheel.ko
[[ " $kernels " != *" debug "* && -z "${REPLAY:-}${MERGE:-}" ]] ||
	build_for "$kernel" "$work/debug-module" KCOV_INSTRUMENT=y

if [ -n "${REPLAY:-}" ]; then
	[ -e "$REPLAY" ] || die "REPLAY: there is no $REPLAY"
	rm -rf "$inputs"
	mkdir "$inputs"
	cp -r "$REPLAY" "$inputs/"
	[ ! -d "$REPLAY" ] || inputs=$REPLAY
	say "replaying $REPLAY, $times times"
	debug replay "$module" --seconds 1200 --replay "$times"
	judge --module "$module" replay
	exit
fi

if [ -n "${MERGE:-}" ]; then
	find "$work/found" -type f -exec cp {} "$inputs/" \;
	say "looking for few among $(find "$inputs" -type f | wc -l) programs"
	debug merge "$module" --merge
	judge --module "$module" --merge "$corpus" merge
	rm -rf "$work/found"
	exit
fi

find "$work/found" -type f -exec cp {} "$inputs/" \;
runs=()
limits=(--seconds "$seconds")
if [[ " $kernels " = *" debug "* ]]; then
	say "fuzzing with KASAN and lockdep, guided by coverage, for $seconds s"
	debug debug "$module" --seed "$seed" "${limits[@]}"
	runs+=(debug)
	# The other guests go on from what this one has found.
	judge --found "$work/found" debug > /dev/null || :
	find "$work/found" -type f -exec cp {} "$inputs/" \;
fi
fast=${kernels/debug/}
left=$(wc -w <<< "$fast")
if [ "$left" != 0 ]; then
	stock_kernel
	build_for "$stock_headers" "$work/stock-module" KCOV_INSTRUMENT=n
fi
for on in $fast; do
	if [ "$calls" != 0 ]; then
		# The guests that are left share the calls that are left.
		made=$(judge --count "${runs[@]}")
		share=$((calls > made ? (calls - made + left - 1) / left : 1))
		limits=(--seconds 0 --calls "$share")
		left=$((left - 1))
	fi
	say "fuzzing Debian's kernel $stock_release, $on"
	"$on" "$on" "$work/stock-module/module/twheel.ko" \
		--seed $((seed + 1000 * ${#runs[@]})) "${limits[@]}"
	runs+=("$on")
done
judge --module "$module" "${runs[@]}"
