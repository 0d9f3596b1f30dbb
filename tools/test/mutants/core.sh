#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Mutants of the core: runs the KUnit suites on each, in user-mode Linux, until a case
# fails. First all get those on a virtual clock. What survives them gets programs, and the
# suites on real clocks. Arguments: files of module/core, to change only those. EVERY=N,
# SAMPLE=N and SEED=N as in run.sh, JOBS=N runs so many guests. See mutate.py and tally.py.
#
# That is Linux 7.2: 6.1 has one CPU there, and no preempt count. The suites on real clocks
# get two CPUs. CPU hotplug and PREEMPT_RT are not to be had. The mutator changes neither
# barriers nor the kinds of accesses: they are the models' work.
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

[ $# != 0 ] || set -- "$ROOT"/module/core/*.[ch]
need busybox-static python3
kernel=$("$ROOT/tools/test/vm/kernel.sh" --series 7.2 --um um um-smp)
lock_cache
work=$CACHE/mutants
source=$work/source
mkdir -p "$work"
begin_tools "$work/tools"
mirror "$source" Kbuild module include kunit
run_logged "$work/modules.log" "building the module" \
	make -C "$kernel" M="$source" -j"$(nproc)" ARCH=um \
	KCFLAGS="-fmacro-prefix-map=$source/=" modules
ARCH=um begin_misuse "$kernel" "$source"
end_logged

# The guest's root is a folder of this machine.
root=$SCRATCH/root
mkdir -p "$root"/{bin,modules,tests}
misuse_initrd "$source" "$kernel" "$root"
"$ROOT/tools/test/vm/initramfs.sh" "$SCRATCH/initrd" "$ROOT/tools/test/mutants/guest.sh" \
	"$SCRATCH/misuse"
(cd "$root" && cpio -i --quiet < "$SCRATCH/initrd")
cp "$ROOT/tools/test/vm/guest/misuse.sh" "$root/tests/misuse"
for module in module/twheel kunit/twheel_kunit kunit/twheel_kunit_smp; do
	cp "$source/$module.ko" "$root/modules/"
done
cp "$work"/tools/test/user/{overload,trace}_test "$root/tests/"
cd "$ROOT"
mkdir "$SCRATCH/copies"
SOURCE=$source KERNEL=$kernel ROOT_FOLDER=$root WORK=$SCRATCH/copies \
	LOG=$work/core JOBS=${JOBS:-$(nproc)} \
	nice -n 5 python3 tools/test/mutants/core.py "${@#"$ROOT/"}"
