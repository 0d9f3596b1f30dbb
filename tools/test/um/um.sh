# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The module and its tests in user-mode Linux 7.2, which boots in a tenth of a second: for
# make mutants. 6.1 has one CPU there, and no preempt count. The suites on
# real clocks get two CPUs. CPU hotplug and PREEMPT_RT are not available. Read lib.sh first.

# begin_um DIR CONFIG...: build in DIR what guests need, for a kernel of these vm/config, and
# set what guest.py reads.
begin_um() {
	local work=$1 kernel source root program

	shift
	need busybox-static cpio kmod python3
	# The kernel's builder locks the cache itself.
	exec 9>&-
	kernel=$("${ROOT:?}/tools/test/vm/kernel.sh" --series 7.2 --um "$@")
	lock_cache
	source=$work/source
	mkdir -p "$work"
	begin_tools "$CACHE/mutants/tools"
	mirror "$source" Kbuild module include kunit
	run_logged "$work/modules.log" "building the module" \
		make -C "$kernel" M="$source" -j"$(nproc)" ARCH=um \
		KCFLAGS="-fmacro-prefix-map=$source/=" modules
	ARCH=um begin_beside "$kernel" "$source" tools/test/user/misuse W=1
	end_logged

	# The guest's root is a folder of this machine.
	root=$SCRATCH/root
	rm -rf "$root"
	mkdir -p "$root"/{bin,modules,tests}
	misuse_initrd "$source" "$kernel" "$root"
	"$ROOT/tools/test/vm/initramfs.sh" "$SCRATCH/initrd" \
		"$ROOT/tools/test/um/guest.sh" "$SCRATCH/misuse"
	(cd "$root" && cpio -i --quiet < "$SCRATCH/initrd")
	cp "$ROOT/tools/test/vm/guest/misuse.sh" "$root/tests/misuse"
	for program in "$CACHE"/mutants/tools/test/user/*_test; do
		# These are not static.
		[[ $program = */loop_* ]] || cp "$program" "$root/tests/"
	done
	install -m 755 "$ROOT/tools/test/user/param_test.sh" "$root/tests/param_test"
	cp "$ROOT/tools/test/user/lib/tap.sh" "$root/"
	cp "$CACHE/mutants/tools/cli/twheel" "$root/bin/"
	rm -rf "$SCRATCH/copies"
	mkdir "$SCRATCH/copies"
	export SOURCE=$source KERNEL=$kernel ROOT_FOLDER=$root WORK=$SCRATCH/copies
	export JOBS=${JOBS:-$(nproc)} PYTHONPATH=$ROOT/tools/test/um
}
