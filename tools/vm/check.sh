#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make check: every test, in QEMU. Arguments: names of suites or programs, to run
# only those. The last line is "N passed, N failed".
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

case ${1:-} in
-h | --help)
	echo "usage: check.sh [SUITE or PROGRAM or misuse]..."
	echo "Builds a KUnit kernel (cached), boots it with 2 CPUs, runs the tests;"
	echo "and once more, to see misuse of the module reported."
	exit 0 ;;
esac
# CPUs of the guest, and how long it may take. A run takes one to three minutes;
# five times that is a guest that hangs.
cpus=${CPUS:-2}
limit=${TIMEOUT:-900}

say "all tests of twheel in a virtual machine; everything is kept in $CACHE"
need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev libev-dev make \
	python3
kernel=$("$ROOT/tools/vm/kernel.sh" "$ROOT/tools/vm/kunit.config")
lock_cache

work=$CACHE/check
build=$work/$(basename "$kernel")
build_modules "$kernel" "$build"
build_misuse "$kernel" "$build"
build_tools "$work/tools"
"$ROOT/tools/vm/readme.sh" "$kernel" "$build" "$work/readme"

root=$SCRATCH/files
mkdir -p "$root"/{modules,tests,bin}
cp "$build"/module/twheel.ko "$build"/kunit/twheel_kunit.ko \
	"$build"/tools/examples/kernel/twheel_{example,heartbeat,retry}.ko \
	"$work"/readme/kernel/twheel_readme.ko "$root/modules/"
cp "$work"/tools/twheel/twheel "$root/bin/"
for program in "$work"/tools/tests/*_test; do
	cp "$program" "$root/tests/"
done
for script in "$ROOT"/tools/tests/*_test.sh; do
	install -m 755 "$script" "$root/tests/$(basename "$script" .sh)"
done
for example in after idle_server idle_server_timerfd ev_timeouts; do
	cp "$work/tools/examples/userspace/$example" "$root/bin/"
done
cp "$work/readme/user" "$root/bin/"
with_libraries "$work"/tools/tests/lib_test_shared "$work/tools/lib" "$root"
echo "$*" > "$root/only"
"$ROOT/tools/vm/initramfs.sh" "$work/initrd-tests" \
	"$ROOT/tools/vm/guest/check.sh" "$root"

# guest NAME WHAT OPTION...: boot $work/initrd-NAME, with a sign of life
guest() {
	local name=$1 what=$2 start=$SECONDS

	shift 2
	say "$what in a guest with $cpus CPUs (at most $limit s)"
	"$ROOT/tools/vm/boot.sh" --kernel "$kernel/arch/x86/boot/bzImage" \
		--initrd "$work/initrd-$name" --cpus "$cpus" --memory 2G \
		--timeout "$limit" --console "$work/console-$name" "$@" &
	CHILD=$!
	while kill -0 "$CHILD" 2>/dev/null; do
		sleep 1
		[ ! -t 2 ] || printf '\r  %d s, %s ' $((SECONDS - start)) \
			"$(tail -qn1 "$work/results" 2>/dev/null |
			tr -cd '[:print:]' | cut -c1-60)" >&2
	done
	[ ! -t 2 ] || printf '\r\033[K' >&2
	wait "$CHILD" || say "the end of the console:
$(tail -n 25 "$work/console-$name" 2>/dev/null)"
	CHILD=
	say "  done in $((SECONDS - start)) s; console: $work/console-$name"
}

rm -f "$work"/results "$work"/console-*
if [ "$*" != misuse ]; then
	guest tests "running the tests" --results "$work/results" \
		--append "oops=panic panic_on_warn=1 loglevel=8 \
			softlockup_panic=1 sysctl.kernel.panic_on_rcu_stall=1"
fi
if [ $# = 0 ] || [[ " $* " = *" misuse "* ]]; then
	misuse_initrd "$build" "$work/initrd-misuse"
	guest misuse "misusing the module" --append "$MISUSE_WORDS"
fi
python3 "$ROOT/tools/vm/verdict.py" "$work/results" "$work/console-tests" \
	"$work/console-misuse" "$ROOT" "$@"
