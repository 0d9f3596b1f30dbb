#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# intree.sh TREE: copy twheel into the source tree of a kernel, as one of its drivers. Run
# it again to update the copy. intree.sh --remove TREE removes it.
#
# It goes to drivers/misc. Its device needs the class of misc devices, which drivers/char
# makes: the linker puts that before drivers/misc, but after lib/ and kernel/time/. Drivers
# that use twheel are initialised later, since it is a subsystem.
#
# No file of the tree is modified in place. So TREE may share files with another tree by hard
# links (cp -al).
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)

fail() {
	printf 'intree.sh: %s\n' "$@" >&2
	exit 1
}

remove=
if [ "${1:-}" = --remove ]; then
	remove=1
	shift
fi
if [ $# != 1 ] || [[ $1 = -* ]]; then
	echo "usage: intree.sh [--remove] TREE    (make intree TREE=/path/to/linux)" >&2
	exit 2
fi
[ -d "$1" ] || fail "there is no folder $1"
tree=$(cd "$1" && pwd)
home=$tree/drivers/misc/twheel
kconfig=$tree/drivers/misc/Kconfig
makefile=$tree/drivers/misc/Makefile
if [ ! -e "$tree/Kbuild" ] || [ ! -e "$kconfig" ] || [ ! -e "$makefile" ]; then
	fail "$tree is not the source of a Linux kernel" \
		"unpack one, for example Debian's linux-source-6.1, and name its folder"
fi
release=$(sed -n 's/^\(VERSION\|PATCHLEVEL\) = //p' "$tree/Makefile" | paste -sd.)
[ "$(printf '%s\n5.10\n' "$release" | sort -V | head -n 1)" = 5.10 ] ||
	fail "$tree is Linux $release; twheel needs 5.10 or later"

mapfile -t headers < <(cd "$source" && find include -name "*.h" | sort)
for header in "${headers[@]}"; do
	if [ -e "$tree/$header" ] && [ ! -e "$home" ]; then
		fail "$tree has a $header of its own"
	fi
done

if [ -n "$remove" ]; then
	[ -e "$home" ] || fail "there is no twheel in $tree"
	rm -rf "$home"
	(cd "$tree" && rm -f "${headers[@]}")
	sed -i '/"drivers\/misc\/twheel\/Kconfig"/d' "$kconfig"
	sed -i '/CONFIG_TWHEEL/d' "$makefile"
	echo "twheel is out of $tree"
	exit
fi

# bring FILE AS: copy it, unless the copy is equal: make would rebuild for nothing
bring() {
	if ! cmp -s "$source/$1" "$tree/$2"; then
		mkdir -p "$(dirname "$tree/$2")"
		cp --remove-destination "$source/$1" "$tree/$2"
	fi
}

for header in "${headers[@]}"; do
	bring "$header" "$header"
done
for file in $(cd "$source" && find module kunit -name Kbuild -o -name '*.[ch]'); do
	bring "$file" "drivers/misc/twheel/$file"
done
bring tools/packaging/intree/Kconfig drivers/misc/twheel/Kconfig
bring tools/packaging/intree/Makefile drivers/misc/twheel/Makefile
bring tools/packaging/intree/kunitconfig drivers/misc/twheel/.kunitconfig
# Remove sources that are here no longer.
(cd "$home" && find module kunit -name '*.[ch]') | while read -r file; do
	[ -e "$source/$file" ] || rm "$home/$file"
done

grep -q '"drivers/misc/twheel/Kconfig"' "$kconfig" ||
	sed -i '$!b; /^endmenu$/i source "drivers/misc/twheel/Kconfig"' "$kconfig"
grep -q '"drivers/misc/twheel/Kconfig"' "$kconfig" ||
	fail "$kconfig does not end as expected: source drivers/misc/twheel/Kconfig there"
# shellcheck disable=SC2016
grep -q 'CONFIG_TWHEEL' "$makefile" ||
	sed -i '$a obj-$(CONFIG_TWHEEL)\t\t+= twheel/' "$makefile"

echo "twheel is in $tree; there, CONFIG_TWHEEL builds it, and for its tests:"
echo "  tools/testing/kunit/kunit.py run --kunitconfig drivers/misc/twheel"
