#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What the targets of uninstalling leave behind. Arguments: a folder for what it writes, and the
# folder where the tools are built.
root=$1/uninstalled built=$2
tree=$(cd "$(dirname "$0")/../../.." && pwd)
echo "1..2"
# shellcheck source=../device/lib/tap.sh
. "$tree/tools/test/device/lib/tap.sh"
said=$1/said

# left: all files, and those folders that have our name
left() {
	(cd "$root" && find . ! -type d -o -name '*twheel*' | sort)
}

# makes FOLDER TARGET
makes() {
	make -s -C "$tree/$1" "$2" OUT="$built" DESTDIR="$root" PREFIX=/usr \
		LIBDIR=/usr/lib/there PYTHONDIR=/usr/lib/python
}

# Files of others in the same folders.
others='usr/bin/other usr/include/linux/other.h usr/lib/there/other.so
	usr/share/man/man3/other.3 usr/share/doc/other/copyright'
for file in $others; do
	mkdir -p "$root/${file%/*}"
	echo other > "$root/$file"
done
left > "$said.before"
{
	makes tools install && left > "$said.between" && [ "$(wc -l < "$said.between")" -gt 100 ] &&
		makes . tools_uninstall && left | diff "$said.before" -
} > "$said" 2>&1
result $? tools_uninstall_leaves_nothing

# The folder of Kbuild depends on the kernel, and the end of the name on its configuration.
rm -rf "$root"
kernel=$root/lib/modules/1.2.3
mkdir -p "$root/headers/include/generated" "$kernel/updates/dkms" "$kernel/extra/module"
touch "$root/headers/Makefile"
echo '#define UTS_RELEASE "1.2.3"' > "$root/headers/include/generated/utsrelease.h"
touch "$kernel/modules.order" "$kernel/modules.builtin" "$kernel/extra/other.ko"
wrong=0
# uninstalls FOLDER NAME
uninstalls() {
	mkdir -p "$kernel/$1/module"
	touch "$kernel/updates/dkms/twheel.ko" "$kernel/$1/module/$2"
	make -s -C "$tree" uninstall KDIR="$root/headers" INSTALL_MOD_PATH="$root" > "$said" 2>&1 &&
		[ ! -e "$kernel/$1/module" ] && [ -e "$kernel/updates/dkms/twheel.ko" ] &&
		[ -e "$kernel/extra/other.ko" ] && [ -e "$kernel/modules.dep" ]
}
uninstalls extra twheel.ko || wrong=1
uninstalls updates twheel.ko.xz || wrong=1
rm -r "$kernel/updates"
# It is no error that nothing is there.
make -s -C "$tree" uninstall KDIR="$root/headers" INSTALL_MOD_PATH="$root" >> "$said" 2>&1 ||
	wrong=1
result $wrong uninstall_leaves_what_others_have
exit "${bad:-0}"
