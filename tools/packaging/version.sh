#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# version.sh: check that all files that state the version state that of the Makefile. In
# CHANGELOG.md it may have the heading "## Unreleased".
# version.sh NEW: set it in all of them. What CHANGELOG.md has as unreleased becomes that
# version, of today. Where there is none, and in debian/changelog, there is a new entry. The
# last lines say which entries are to be filled. README.md here has the rest of a release.
set -euo pipefail
cd "$(dirname "$0")/../.."

# a file, and the text before the version in one of its lines
places='Makefile VERSION :=\s
module/main.c MODULE_VERSION("
dkms.conf PACKAGE_VERSION="
tools/python/twheel.py __version__ = "
tools/packaging/rpm/twheel.spec Version:\s*
debian/changelog twheel (
CHANGELOG.md ##\s
README.md | \*\*Maturity\*\* | Version\s'

number='[0-9]*\.[0-9]*\.[0-9]*'
version=${1:-$(sed -n 's/^VERSION := //p' Makefile)}
if ! [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
	echo "version.sh: '$version' is not a version such as 1.2.3" >&2
	exit 2
fi

if [ $# = 1 ]; then
	while read -r file before; do
		case $file in
		CHANGELOG.md | debian/changelog) ;;
		*) sed -i "s/^\($before\)$number/\1$version/" "$file" ;;
		esac
	done <<< "$places"
	entry="## $version - $(date -u +%F)"
	grep -q "^## $version\( \|$\)" CHANGELOG.md || {
		grep -m 1 '^## ' CHANGELOG.md | grep -q '^## Unreleased' ||
			echo "version.sh: fill '## $version' of CHANGELOG.md" >&2
		sed -i "0,/^## /{s/^## Unreleased.*/$entry/;t;s/^## /$entry\n\n&/}" CHANGELOG.md
	}
	grep -qxF "$entry" CHANGELOG.md ||
		echo "version.sh: CHANGELOG.md dates $version $(sed -n "s/^## $version - //p" \
			CHANGELOG.md), and today is $(date -u +%F)" >&2
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
		echo "version.sh: say in debian/changelog what '* Version $version.' brings" >&2
		echo "version.sh: date the entry of %changelog in tools/packaging/rpm/twheel.spec" >&2
	fi
fi

wrong=0
while read -r file before; do
	# It may end a sentence, but not go on with another number.
	states=$(sed -n "s/^$before\($number\)\(\.\?[^0-9.].*\)\?$/\1/p" "$file" |
		head -n 1)
	[ "$states" != "$version" ] || continue
	# Not released yet, or there is more than was released.
	[ "$file" = CHANGELOG.md ] && [ "$(grep -m 1 '^## ' CHANGELOG.md)" = '## Unreleased' ] &&
		continue
	echo "version.sh: $file says '$states', not $version" >&2
	wrong=1
done <<< "$places"
[ "$wrong" = 0 ] || echo "version.sh: 'tools/packaging/version.sh $version' corrects it" >&2
exit "$wrong"
