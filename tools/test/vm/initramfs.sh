#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# initramfs.sh OUT INIT [FOLDER...]: an initramfs of busybox, the script INIT, which
# process 1 runs, and what is in the folders. It is not compressed: an emulated guest
# would take seconds to unpack it.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || die "usage: initramfs.sh OUT INIT [FOLDER...]"
out=$1 script=$2
shift 2

root=$SCRATCH/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,run}
busybox=$(command -v busybox)
[ -z "${GUEST_ARCH:-}" ] || busybox=$(arch_program busybox)
cp "$busybox" "$root/bin/busybox"
for folder; do
	cp -r "$folder/." "$root/"
done
cp "$script" "$root/main"
cat > "$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t debugfs debug /sys/kernel/debug
mount -t tmpfs tmp /tmp
echo 1 > /proc/sys/kernel/printk_ratelimit
# What the host reads. A word of the kernel's that it does not know is in the environment.
ln -s "${results_port:-ttyS1}" /dev/results
. /main
# Setting the modes of a line waits until all output has left it.
for tty in /dev/console /dev/results; do
	stty -F $tty sane 2>/dev/null
done
sleep 1
reboot -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) > "$out.part"
mv "$out.part" "$out"
