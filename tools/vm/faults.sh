#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make faults: do the tests find faults? Plants each of tools/tests/faults in a copy of
# the sources, one at a time, and runs the tests until one fails. Arguments: names of
# faults, to plant only those. The last line is "N passed, N failed": a fault that
# no test finds is a failure. Those whose names begin with "misuse-" are in what
# reports misuse, and looked for in the guest in which the module is misused.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# A faulty module may well hang the guest: that counts as found, and costs this.
limit=${TIMEOUT:-240}

need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev liburing-dev \
	make python3
kernel=$("$ROOT/tools/vm/kernel.sh" base debug)
lock_cache
work=$CACHE/faults
mkdir -p "$work"
build_tools "$work/tools"

# try NAME: run the tests on what is in $work/source; prints who failed, if any
try() {
	local root=$SCRATCH/files

	rm -rf "$root" "$work/results" "$work/console"
	mkdir -p "$root"/{modules,tests,bin}
	cp "$work"/source/module/twheel.ko \
		"$work"/source/kunit/twheel_kunit{,_smp}.ko "$root/modules/"
	cp "$work"/tools/tests/*_test "$root/tests/"
	echo > "$root/only"
	"$ROOT/tools/vm/initramfs.sh" "$work/initrd" \
		"$ROOT/tools/vm/guest/faults.sh" "$root"
	"$ROOT/tools/vm/boot.sh" --kernel "$kernel/arch/x86/boot/bzImage" \
		--initrd "$work/initrd" --timeout "$limit" \
		--console "$work/console" --results "$work/results" \
		--append "oops=panic panic_on_warn=1 possible_cpus=3 softlockup_panic=1 \
			sysctl.kernel.panic_on_rcu_stall=1" 2> /dev/null || :
	tr -d '\r' < "$work/results" | grep -E '^ *not ok' | head -n 1 ||
		grep -aE 'BUG:|WARNING:|rcu: INFO|Oops|Kernel panic' \
			"$work/console" |
			head -n 1 ||
		grep -q '^@complete' "$work/results" || echo "the guest hangs"
}

# try_misuse: misuse what is in $work/source; prints what was not as it should be
try_misuse() {
	build_misuse "$kernel" "$work/source"
	mkdir -p "$work/misused"
	misuse_initrd "$work/source" "$kernel" "$work/misused"
	rm -f "$work/misused/console"
	"$ROOT/tools/vm/boot.sh" --kernel "$kernel/arch/x86/boot/bzImage" \
		--initrd "$work/misused/initrd" --timeout "$limit" \
		--console "$work/misused/console" --append "$MISUSE_WORDS" \
		2> /dev/null || :
	python3 "$ROOT/tools/vm/verdict.py" "$ROOT" "$work/misused" \
		> "$work/verdict" || head -n 1 "$work/verdict"
}

passed=0 failed=0
while read -r name file change; do
	[ "$#" = 0 ] || [[ " $* " = *" $name "* ]] || continue
	rm -rf "$work/source"
	mkdir "$work/source"
	cp -r "$ROOT"/{Kbuild,module,include,kunit} "$work/source/"
	sed -i "$change" "$work/source/$file"
	if cmp -s "$ROOT/$file" "$work/source/$file"; then
		say "$name: does not change $file"
		failed=$((failed + 1))
		continue
	fi
	make -C "$kernel" M="$work/source" -j"$(nproc)" modules \
		> "$work/build.log" 2>&1 < /dev/null ||
		die "$name: does not compile" "see $work/build.log"
	case $name in
	misuse-*) finder=$(try_misuse) ;;
	*) finder=$(try) ;;
	esac
	if [ -n "$finder" ]; then
		passed=$((passed + 1))
		echo "found: $name: ${finder#"${finder%%[![:space:]]*}"}"
	else
		failed=$((failed + 1))
		echo "NOT FOUND: $name"
	fi
done < <(grep -v '^#' "$ROOT/tools/tests/faults")
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
