#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make attack: be a nuisance with /dev/twheel as an ordinary user, on Debian's stock
# kernel, in QEMU, and see what neighbours notice of it. Arguments: names of attacks,
# to try only those. Ends with "N passed, N failed".
#
# The guest has one CPU, whose clock advances by one nanosecond an instruction: the load of the host
# has no effect, and every run says the same.
#
#   SERIES=      which of Debian's kernels: 6.1 (the default), 6.12
#   SECONDS_EACH=  how long neighbours are asked about each attack (3)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

seconds=${SECONDS_EACH:-3}

mapfile -t ways < <(sed -n 's/^\t{ "\([^"]*\)",.*/\1/p' "$ROOT/tools/test/attack/ways.c")
refuse_unknown attack "$*" "${ways[@]}"
refuse_unknown "stock kernel SERIES" "${SERIES:-6.1}" "${STOCK_SERIES[@]}"

say "attacks on Debian's stock kernel, in a virtual machine"
need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev make
lock_cache
stock_kernel "${SERIES:-6.1}"

work=$CACHE/attack
build=$work/$stock_release
build_modules "$stock_headers" "$build"
begin_beside "$stock_headers" "$build" tools/test/attack/irqs W=1
build_tools "$work/tools"

root=$SCRATCH/files
mkdir -p "$root"/{modules,bin}
cp "$build/module/twheel.ko" "$build/tools/test/attack/irqs/twheel_irqs.ko" \
	"$root/modules/"
cp "$work/tools/test/attack/attack" "$root/bin/"
echo "$seconds $*" > "$root/arguments"
"$ROOT/tools/test/vm/initramfs.sh" "$work/initrd" "$ROOT/tools/test/vm/guest/attack.sh" \
	"$root"

rm -f "$work/results" "$work/console"
say "booting Linux $stock_release"
start=$SECONDS
status=0
"$ROOT/tools/test/vm/boot.sh" --kernel "$stock_image" --initrd "$work/initrd" \
	--icount --memory 3G \
	--results "$work/results" --console "$work/console" \
	--append "quiet loglevel=4 oops=panic panic_on_warn=1 tsc=reliable $PATIENT_WORDS" || status=$?
tr -d '\r' < "$work/results" | grep -v '^@' || :
if [ "$status" != 0 ] || ! grep -q '^@complete' "$work/results"; then
	tail -n 20 "$work/console" >&2
	die "the guest did not come to its end" "its console: $work/console"
fi
say "done: $((SECONDS - start)) s in the guest"
if grep -aE 'BUG:|WARNING:|rcu: INFO|soft lockup|Oops|blocked for more|too long' \
	"$work/console" >&2; then
	die "the kernel complains" "its console: $work/console"
fi
grep -q '^@complete 0' "$work/results"
