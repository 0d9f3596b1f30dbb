#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# version.sh: does everything that states the version of twheel state the same?
# version.sh NEW: make it so. The changelog of the packages gets an entry.
set -euo pipefail
cd "$(dirname "$0")/../.."

# file, and what stands before the version in a line of it
places='tools/Makefile VERSION :=\s
tools/cli/command.h #define TWHEEL_VERSION\s"
module/main.c MODULE_VERSION("
dkms.conf PACKAGE_VERSION="
debian/changelog twheel ('

version=${1:-$(sed -n 's/^VERSION := //p' tools/Makefile)}
if ! [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
	echo "version.sh: '$version' is no version such as 1.2.3" >&2
	exit 2
fi

if [ $# = 1 ]; then
	while read -r file before; do
		[ "$file" != debian/changelog ] || continue
		sed -i "s/^\($before\)[0-9.]*/\1$version/" "$file"
	done <<< "$places"
	if ! head -n 1 debian/changelog | grep -qF "twheel ($version)"; then
		{
			printf 'twheel (%s) unstable; urgency=medium\n\n' "$version"
			printf '  * Version %s.\n\n' "$version"
			sed -n '/^ -- /{s/>  .*/>  /p;q}' debian/changelog |
				tr -d '\n'
			printf '%s\n\n' "$(LC_ALL=C date -R)"
			cat debian/changelog
		} > debian/changelog.new
		mv debian/changelog.new debian/changelog
	fi
fi

wrong=0
while read -r file before; do
	states=$(sed -n "s/^$before\([0-9.]*\).*/\1/p" "$file" | head -n 1)
	[ "$states" != "$version" ] || continue
	echo "version.sh: $file says '$states', not $version" >&2
	wrong=1
done <<< "$places"
[ "$wrong" = 0 ] || echo "version.sh: 'tools/packaging/version.sh $version' mends it" >&2
exit "$wrong"
