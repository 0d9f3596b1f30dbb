#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# series.sh OUT TREE: twheel for the kernel source TREE as a series of patches. They are put
# into the folder OUT, for git am and for a mailing list. TREE is only read. Their
# author, who maintains the files, is the user that git is configured for.
#
# No patch breaks the build: the one that adds the configuration is the first that builds
# anything. Each adds what it brings to MAINTAINERS.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
mine=$source/tools/packaging/series

fail() {
	printf 'series.sh: %s\n' "$@" >&2
	exit 1
}

if [ $# != 2 ] || [[ $1 = -* ]]; then
	echo "usage: series.sh OUT TREE    (make series OUT=folder TREE=/path/to/linux)" >&2
	exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
[ -d "$2" ] || fail "there is no folder $2"
tree=$(cd "$2" && pwd)
[ -z "$(ls "$out")" ] || fail "$out is not empty"
[ ! -e "$tree/drivers/misc/twheel" ] || fail "$tree has twheel already"

work=$(mktemp -d "${TMPDIR:-/tmp}/twheel.XXXXXX")
trap 'rm -rf "$work"' EXIT
# What is modified in the tree, and what intree.sh looks at.
changed=(MAINTAINERS drivers/misc/Kconfig drivers/misc/Makefile
	Documentation/driver-api/index.rst Documentation/userspace-api/index.rst
	tools/testing/selftests/Makefile)
for file in Kbuild Makefile "${changed[@]}"; do
	[ -e "$tree/$file" ] || fail "$tree has no $file: is it the source of a kernel?"
	install -D -m 644 "$tree/$file" "$work/tree/$file"
done
cd "$work/tree"
git init -q .
identity=$(git -C "$source" var GIT_AUTHOR_IDENT) || fail "git does not know who you are"
git config user.name "${identity% <*}"
email=${identity#*<}
git config user.email "${email%%>*}"
git config core.autocrlf false
# The names of the files in a diff, whatever the user's settings.
git config diff.noprefix false
git config diff.mnemonicPrefix false
git add -f .
git commit -qm "$(basename "$tree")"
base=$(git rev-parse HEAD)

home=drivers/misc/twheel
"$source/tools/packaging/intree.sh" "$work/tree" > /dev/null
# In the tree there is nothing to try: a series is for a kernel that has all of it.
rm "$home/module/features.c"
sed -i '/^# What this kernel has/,$d' "$home/module/Kbuild"
sed -i '${/^$/d}' "$home/module/Kbuild"
sed -i '/^# Made there/,/^ccflags-y/d' "$home/kunit/Kbuild"
sed -i '/^# The tests want/,$d' "$home/Makefile"
sed -i '/^\/\* Before 5\.16/,+1d' "$home/module/engine/host.h"
mapfile -t headers < <(grep -lE 'LINUX_VERSION_CODE|__has_include|TW_HAS_|__KERNEL__' -r \
	"$home" include/linux/twheel*.h)
[ ${#headers[@]} = 0 ] ||
	python3 "$source/tools/packaging/resolve.py" "$tree" "${headers[@]}"
# Out of the tree a macro hides that namespaces became strings. Here kernel-doc looks for
# the kernel's own. And newer kernels have a call for the memory of one object.
mapfile -t files < <(find "$home" -name '*.c')
for space in '' _PRIVATE; do
	sed -i "s/^TW_EXPORT$space(\(.*\));$/EXPORT_SYMBOL_NS_GPL(\1, \"TWHEEL$space\");/" \
		"${files[@]}"
	sed -i "/^#define TW_EXPORT$space(/d" "$home/module/export.h"
done
sed -i 's/^TW_EXPORT_FOR_TESTS(/EXPORT_SYMBOL_TWHEEL_TESTS(/' "${files[@]}"
sed -i 's/TW_EXPORT_FOR_TESTS(/EXPORT_SYMBOL_TWHEEL_TESTS(/
	s/TW_EXPORT_PRIVATE(sym)/EXPORT_SYMBOL_NS_GPL(sym, "TWHEEL_PRIVATE")/' "$home/module/export.h"
! grep -q 'define kzalloc_obj' "$tree/include/linux/slab.h" || sed -i \
	's/\bk\([mz]\)alloc(sizeof(\([^()]*\)), /k\1alloc_obj(\2, /' "${files[@]}"

# in_list FILE PATTERN LINE: put the line in front of the first of the lines of that
# pattern that sorts behind it
in_list() {
	awk -v pattern="$2" -v line="$3" '
		!done && $0 ~ pattern && tolower($0) > tolower(line) { print line; done = 1 }
		{ print; if ($0 ~ pattern) last = NR }
		END { exit !done }' "$1" > "$work/list" || fail "$tree/$1 has no place for $3"
	cat "$work/list" > "$1"
}

# after FILE LINE NEW...: put the new lines behind that line
after() {
	local file=$1 line=$2

	shift 2
	awk -v line="$line" -v new="$(printf '%s\\n' "$@")" '
		{ print }
		!done && $0 == line { printf "%s", new; done = 1 }
		END { exit !done }' "$file" > "$work/list" || fail "$tree/$file has no line $line"
	cat "$work/list" > "$file"
}

# maintain PATTERN...: the files of the entry in MAINTAINERS, which is made anew
maintain() {
	git show "$base:MAINTAINERS" > MAINTAINERS
	{
		printf 'TIMING WHEEL FOR VERY MANY TIMEOUTS\nM:\t%s\nS:\tMaintained\n' "${identity%> *}>"
		printf 'F:\t%s\n' "$@" | LC_ALL=C sort
		echo
	} > "$work/entry"
	awk -v entry="$work/entry" '
		!done && listed && /^[A-Z0-9]/ && !/^.:/ && $0 > "TIMING WHEEL FOR" {
			while ((getline line < entry) > 0)
				print line
			done = 1
		}
		/^Maintainers List/ { listed = 1 }
		{ print }
		END { exit !done }' MAINTAINERS > "$work/list" ||
		fail "$tree/MAINTAINERS has no place for an entry"
	cat "$work/list" > MAINTAINERS
}

# patch PATH... < MESSAGE: a patch with these, and with MAINTAINERS
patch() {
	git add -f MAINTAINERS "$@"
	git commit -qs -F -
}

maintain "$home/module/engine/"
patch "$home/module/engine" << 'END'
misc: twheel: add a hierarchical timing wheel

A wheel of several levels, whose buckets are lists. A bitmap for each
level finds the next bucket. It is a data structure only: the time is an
argument, and the caller has a lock.

Each level has two laps of buckets. So the next bucket of an upper level
can be emptied in slices, ahead of the tick on which it has to be empty,
into places that are unambiguous. A million timers in one bucket cause no
pause.

A later deadline is stored in the timer, by a compare-and-swap. The timer
moves when its bucket is reached.
END

maintain "$home/module/core/" "$home/module/engine/" 'include/linux/twheel*.h' \
	include/trace/events/twheel.h
mapfile -t small < <(git ls-files -o "$home/module" | grep -v '/module/[a-z]*/' |
	grep -v 'main.c\|Kbuild')
patch "$home/module/core" include/linux include/trace "${small[@]}" << 'END'
misc: twheel: add wheels for other modules

A base is a wheel with a lock and an hrtimer, which is set for the next
instant at which something expires or cascades. An empty wheel causes no
interrupts.

A pass of the expiry is bounded in time. It goes on at a freshly read now:
an hrtimer that restarts itself at "now" from its callback would not leave
the loop of the hrtimer core. A callback runs without a lock of the wheel,
in softirq or in a workqueue.

A wheel has one base, or one for each CPU, where arming is local. Each call
says what has happened in what it returns. Periods and idle watches are
helpers over plain timers.
END

maintain "$home/" 'include/linux/twheel*.h' include/trace/events/twheel.h \
	include/uapi/linux/twheel.h
patch "$home/module" "$home/Kconfig" "$home/Makefile" include/uapi drivers/misc/Kconfig \
	drivers/misc/Makefile << 'END'
misc: twheel: add /dev/twheel, and build all

An open file is a wheel. An ioctl does an operation on a timer, another one
an array of them, and read() takes the events of timers that are due. The
calling task does all work; in interrupt context it is only woken.

Cells are timers in memory that programs share with the kernel. A program
arms, extends and cancels them by a compare-and-swap.

Users have limits of timers and memory, and a share of a CPU for the
interrupts that wake them.
END

maintain "$home/" 'include/linux/twheel*.h' include/trace/events/twheel.h \
	'include/uapi/linux/twheel*.h'
patch "$home/kunit" "$home/.kunitconfig" << 'END'
misc: twheel: add KUnit tests

Those of the first module run on a clock of their own, and take seconds.
Those of the second run on real clocks and on several CPUs, set the wall
clock, and take CPUs offline. They take minutes, so that KUNIT_ALL_TESTS
does not choose them.
END

maintain "$home/" 'include/linux/twheel*.h' include/trace/events/twheel.h \
	'include/uapi/linux/twheel*.h' tools/testing/selftests/twheel/
tests=tools/testing/selftests/twheel
mkdir -p "$tests/lib"
cp "$mine"/selftests/* "$tests/"
read -ra programs < <(sed -n 's/^TEST_GEN_PROGS.*= //p' "$tests/Makefile" | paste -sd ' ')
for program in "${programs[@]}"; do
	cp "$source/tools/test/device/$program.c" "$tests/"
	echo "$program" >> "$work/ignore"
done
{
	echo "# SPDX-License-Identifier: GPL-2.0-only"
	cat "$work/ignore"
} > "$tests/.gitignore"
grep -o 'lib/[a-z]*\.[ch]' "$tests/Makefile" | sort -u | while read -r file; do
	cp "$source/tools/test/device/$file" "$tests/lib/"
done
in_list tools/testing/selftests/Makefile '^TARGETS [+]= ' 'TARGETS += twheel'
patch "$tests" tools/testing/selftests/Makefile << 'END'
selftests: twheel: add tests of the device

Each refusal of the ABI is tested by a call that is valid except for one
field. The programs print TAP, and skip where there is no /dev/twheel.
END

maintain Documentation/driver-api/twheel.rst Documentation/userspace-api/twheel.rst \
	"$home/" 'include/linux/twheel*.h' include/trace/events/twheel.h \
	'include/uapi/linux/twheel*.h' tools/testing/selftests/twheel/
for book in driver-api userspace-api; do
	cp "$mine/$book.rst" "Documentation/$book/twheel.rst"
done
after Documentation/driver-api/index.rst '   basics' '   twheel'
awk '/^\.\. toctree::/ { last = NR } { line[NR] = $0 } END {
	for (i = 1; i <= NR; i++) {
		print line[i]
		if (i > last && !done && line[i] ~ /^   [a-z]/) { print "   twheel"; done = 1 }
	}
	exit !done }' Documentation/userspace-api/index.rst > "$work/list" ||
	fail "$tree/Documentation/userspace-api/index.rst has no list"
cat "$work/list" > Documentation/userspace-api/index.rst
patch Documentation << 'END'
Documentation: describe twheel

One page is for modules, with the kernel-doc of the functions, and one for
programs, with that of the ABI.
END
[ -z "$(git status --porcelain -uall)" ] ||
	fail "these files are in no patch:" "$(git status --porcelain -uall)"

branch=$(git symbolic-ref --short HEAD)
git config "branch.$branch.description" "$(cat "$mine/cover.md")"
git format-patch -q --cover-letter --cover-from-description=subject --base="$base" \
	--no-renames -o "$out" "$base"
# The base is no commit that anybody else has.
sed -i '/^base-commit: /d' "$out"/*.patch
echo "the series for $(sed -n 's/^\(VERSION\|PATCHLEVEL\) = //p' "$tree/Makefile" |
	paste -sd.) is in $out: git am $out/*.patch, without the cover letter"
