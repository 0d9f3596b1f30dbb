#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make demo: COUNT= timeouts (a million) with delays up to DELAY= (10s), on Debian's stock
# kernel, in QEMU.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

count=${COUNT:-1000000} delay=${DELAY:-10s}

say "$count timeouts on Debian's stock kernel, in a virtual machine"
need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev make
lock_cache
stock_kernel 6.1

work=$CACHE/demo
mkdir -p "$work"
build_modules "$stock_headers" "$work/$stock_release"
begin_beside "$stock_headers" "$work/$stock_release" tools/examples/kernel
build_tools "$work/tools"

root=$SCRATCH/files
mkdir -p "$root"/{modules,bin}
cp "$work/$stock_release"/module/twheel.ko \
	"$work/$stock_release"/tools/examples/kernel/twheel_example.ko \
	"$root/modules/"
cp "$work"/tools/cli/twheel "$root/bin/"
echo "$count" > "$root/count"
echo "$delay" > "$root/delay"
# Progress is for a terminal; the guest's console always looks like one.
if [ -t 1 ]; then echo /dev/ttyS0; else echo /dev/null; fi > "$root/progress"
"$ROOT/tools/test/vm/initramfs.sh" "$work/initrd" "$ROOT/tools/test/vm/guest/demo.sh" \
	"$root"

rm -f "$work/results"
say "booting Linux $stock_release"
start=$SECONDS
status=0
"$ROOT/tools/test/vm/boot.sh" --kernel "$stock_image" --initrd "$work/initrd" \
	--cpus 2 --memory 2G --results "$work/results" \
	--append "quiet loglevel=4 oops=panic panic_on_warn=1" || status=$?
if [ "$status" != 0 ] || [ "$(tr -d "\r" < "$work/results")" != passed ]; then
	die "the demo failed after $((SECONDS - start)) s" \
	    "what the guest printed is above"
fi
say "done: $((SECONDS - start)) s in the guest"
