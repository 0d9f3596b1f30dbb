#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make style: what programs can tell of style, on all files in git. Arguments: names of
# checks, as the array below has them, to make only those. The last line is "N passed, N failed".
# "links" also finds the tests that features.md names, and "features" is about those of kernels. Most
# take seconds; shellcheck, sparse and features take about a minute, and checkpatch several.
#   SINCE=commit  checkpatch reads only what has changed since
# shellcheck source=../test/vm/lib.sh
. "$(dirname "$0")/../test/vm/lib.sh"

checks=(checkpatch indent names layers kernel-doc sparse headers library abi shellcheck python
	man links figures spelling licences reuse version completion alerts features)
refuse_unknown check "$*" "${checks[@]}"
[ $# = 0 ] || checks=("$@")

say "checking the style: ${checks[*]}"
need shellcheck mandoc sparse g++ gcc-multilib clang clang-format codespell git python3 perl reuse \
	libev-dev libuv1-dev libevent-dev libsystemd-dev libglib2.0-dev libboost-dev pkg-config
lock_cache
# No kernel is built: scripts are of the unpacked source, and sparse takes Debian's headers.
case " ${checks[*]} " in
*" checkpatch "* | *" kernel-doc "*)
	kernel_source 6.1
	# shellcheck disable=SC2154 # kernel_source sets it
	scripts=$source_folder/scripts ;;
esac
work=$CACHE/style
mkdir -p "$work"
cd "$ROOT"

# files GLOB...: those in git, each ended by a 0
files() {
	git ls-files -z -- "$@"
}

# changed GLOB...: those that have changed since SINCE, or all
changed() {
	if [ -n "${SINCE:-}" ]; then
		git diff -z --name-only --diff-filter=d "$SINCE" -- "$@"
	else
		files "$@"
	fi
}

# In parallel: it is the one that takes long. Three headers stand in for the kernel's own in a
# program, and have their names for what the kernel forbids.
check_checkpatch() {
	changed '*.[ch]' ':!module/engine/host.h' ':!tools/test/library/kunit.h' ':!tools/test/simulation/stub*.h' > "$work/sources"
	[ -s "$work/sources" ] || return 0
	xargs -0 -n 8 -P "$(nproc)" -a "$work/sources" perl "$scripts/checkpatch.pl" \
		--no-tree --strict --quiet --terse --show-types -f \
		> "$work/checkpatch" 2>&1 || :
	rm -f .checkpatch-camelcase.*
	# Without this line the script has not run.
	grep -q ' lines checked$' "$work/checkpatch" ||
		{ tail -n 3 "$work/checkpatch"; return 1; }
	python3 tools/style/judge.py tools/style/exceptions ${SINCE:+some} < "$work/checkpatch"
}

# A backtrace of the kernel shows bare function names, without their file.
check_names() {
	files 'module/*.[ch]' 'tools/lib/*.[ch]' 'kunit/*.[ch]' 'tools/bench/*.[ch]' \
		'tools/examples/kernel/*.[ch]' 'tools/test/torture/*.[ch]' \
		'tools/test/device/misuse/*.[ch]' 'tools/test/attack/irqs/*.[ch]' |
		xargs -0 python3 tools/style/names.py > "$work/names" || return
	python3 tools/style/judge.py tools/style/exceptions BARE_NAME < "$work/names"
}

check_layers() {
	python3 tools/style/layers.py
}

check_indent() {
	files '*.[ch]' | xargs -0 python3 tools/style/indent.py
}

# Every kernel-doc comment is valid, and every exported function has one.
check_kernel_doc() {
	local status=0 name

	files 'include/*.h' 'module/*.[ch]' 'tools/lib/twheel*.h' |
		xargs -0 -n 1 perl "$scripts/kernel-doc" -none -Werror || status=1
	while read -r name; do
		grep -qE "^ \* $name\(\) - " module/*/*.c include/linux/*.h && continue
		echo "$name() is exported, and has no kernel-doc"
		status=1
	done < <(sed -n 's/^TW_EXPORT(\(.*\));$/\1/p' module/*/*.c)
	return $status
}

# Debian's kernel is without KUnit, whose symbols modpost does not find. KUnit's suites are declared
# where they are listed.
check_sparse() {
	stock_headers 6.1
	# shellcheck disable=SC2154 # that sets it
	mirror "$work/build" Kbuild module include kunit
	make -C "$stock_headers" M="$work/build" C=2 W=1 -j"$(nproc)" \
		CONFIG_KUNIT=m CONFIG_TWHEEL_KUNIT_TEST=m KBUILD_MODPOST_WARN=1 \
		modules > "$work/sparse" 2>&1 ||
		{ tail -n 20 "$work/sparse"; return 1; }
	grep -q '^  CHECK ' "$work/sparse" || { echo "it has not run"; return 1; }
	! grep -E '(warning|error):' "$work/sparse" |
		grep -v "'twheel_[a-z_]*_suite' was not declared"
}

# compiles HEADER FLAG...: by each compiler of standard input, a line each with its flags
compiles() {
	local status=0 header=$1 compiler

	shift
	while read -ra compiler; do
		[ ${#compiler[@]} = 0 ] ||
			"${compiler[@]}" -Wall -Wextra -Wpedantic -Werror -Iinclude/uapi -Itools/lib \
				"$@" -include "$header" -c -o /dev/null /dev/null || status=1
	done
	return $status
}

# What a program includes, alone, by each compiler; and all programs by clang.
check_headers() {
	local status=0 header glib

	read -ra glib < <(pkg-config --cflags glib-2.0)
	for header in linux/twheel.h twheel.h twheel_device.h twheel_policy.h; do
		compiles "$header" <<- END || status=1
			gcc -xc -std=c99
			gcc -xc -std=gnu11
			clang -xc -std=c99
			clang -xc -std=gnu11
			g++ -xc++ -std=c++11
			clang++ -xc++ -std=c++11
		END
	done
	# It needs names that strict C does not have.
	compiles twheel_guard.h <<- END || status=1
		gcc -xc -std=gnu99
		clang -xc -std=gnu11
		g++ -xc++ -std=c++11
		clang++ -xc++ -std=c++11
	END
	# Those for event loops, in C++ too.
	for header in tools/lib/twheel/*.h*; do
		compiles "$header" "${glib[@]}" <<- END || status=1
			$([[ $header != *.h ]] || printf '%s -xc -std=gnu11\n' gcc clang)
			g++ -xc++ -std=c++14
			clang++ -xc++ -std=c++14
		END
	done
	make -C tools -j"$(nproc)" CC=clang CXX=clang++ OUT="$work/clang" > "$work/headers" 2>&1 ||
		{ grep -A 5 -E 'error|Error' "$work/headers" | head -n 40; return 1; }
	return $status
}

# The library has the symbols that its map lists, and a static one no other that a
# program could see. So does the list for Debian's packages.
check_library() {
	local status=0 library

	# With the flags of a distribution that optimizes when it links.
	make -C tools -j"$(nproc)" OUT="$work/tools" CFLAGS='-O2 -flto=auto -ffat-lto-objects' \
		lib "$work/tools/32/lib/libtwheel.a" > "$work/library" 2>&1 ||
		{ tail -n 20 "$work/library"; return 1; }
	sed -n 's/^\t\(twheel_[a-z_]*\);$/\1/p' tools/lib/libtwheel.map | sort > "$work/symbols"
	for library in "$work"/tools/{,32/}lib/libtwheel.a; do
		nm -g --defined-only "$library" | awk 'NF == 3 { print $3 }' | sort |
			diff "$work/symbols" - || status=1
	done
	# Of a later version: only then is a symbol missed that is gone.
	dpkg-gensymbols -c4 -plibtwheel1 -v99 -e"$work/tools/lib/libtwheel.so" \
		-Idebian/libtwheel1.symbols -O/dev/null || status=1
	return $status
}

# Sizes, numbers and functions are those that existing programs rely on.
check_abi() {
	python3 tools/style/abi.py --self-test && python3 tools/style/abi.py tools/lib/abi.txt &&
		python3 tools/style/syz.py tools/test/fuzz/twheel.txt include/uapi/linux/twheel.h \
			tools/lib/abi.txt
}

# Each script from its own folder, so that shellcheck finds the files it sources. Single
# quotes hold code for another shell (2016), and the arguments of stock_kernel() are
# optional (2119). A script that names its interpreter is executable; those of debian/ are
# installed by their names.
check_shellcheck() {
	local status=0 script start

	while IFS= read -rd '' script; do
		start=$(head -c 200 "$script" | head -n 2)
		[[ $start != '#!'* || -x $script || $script = debian/* ]] || {
			echo "$script is not executable: chmod +x $script"
			status=1
		}
		case $start in
		'#!'*python*) continue ;;
		'#!'*sh* | *'shellcheck shell'*) ;;
		*) case $script in *.sh) ;; *) continue ;; esac ;;
		esac
		(cd "$(dirname "$script")" && shellcheck -x -P SCRIPTDIR -P "$ROOT/tools/test/vm" -e SC2016,SC2119 "${script##*/}") ||
			status=1
	done < <(git grep -zlE '^(#!|# shellcheck shell)' -- ':!*.[ch]')
	return $status
}

check_python() {
	files '*.py' | xargs -0 -n 1 python3 -c '
import ast, sys
ast.parse(open(sys.argv[1]).read(), sys.argv[1])'
}

check_man() {
	tools/style/man.sh && "$ROOT/tools/man/kernel.sh" "$work/man9"
}

# The pictures of the documents are those that their script draws. Names in the documents
# exist.
check_links() {
	# The templates of forges are no documents: nothing leads to them.
	files '*.md' ':!.github' | xargs -0 python3 tools/style/links.py || return
	python3 tools/doc/check.py || return
	mkdir -p "$work/pictures"
	python3 tools/doc/pictures.py "$work/pictures"
	diff -rq "$work/pictures" tools/doc/pictures
}

# The tables of figures in the documents are those of tools/bench/figures.json.
check_figures() {
	python3 tools/bench/figures.py
}

check_completion() {
	need bash zsh fish
	make -C tools -j"$(nproc)" OUT="$work/tools" command > "$work/completion" 2>&1 ||
		{ cat "$work/completion"; return 1; }
	tools/style/completion.sh "$work/tools/cli"
}

# The kernel's name for an open file, requests of manual pages, and what a module's information
# calls a parameter are no mistakes.
check_spelling() {
	files ':!*.svg' ':!tools/test/engine/corpus' ':!LICENSES' |
		xargs -0 codespell --ignore-words-list=filp,fo,nd,bu,parm,inout
}

# Every source has its licence in its first lines. Files without room for it, such as
# documents, pictures, configurations and the corpus, are covered by .reuse/dep5.
check_licences() {
	local status=0 name

	while IFS= read -rd '' name; do
		head -n 5 "$name" | grep -q 'SPDX-License-Identifier: ' && continue
		echo "$name has no SPDX-License-Identifier"
		status=1
	done < <(files ':!*.svg' ':!*.json' ':!*.md' ':!*config' ':!debian/*' ':!tools/test/engine/corpus' \
		':!.gitignore' ':!COPYING' ':!LICENSES' ':!.reuse')
	# What people copy into programs of their own.
	while IFS= read -rd '' name; do
		head -n 5 "$name" | grep -q 'SPDX-License-Identifier: MIT-0\( \|$\)' && continue
		echo "$name is an example of a program, and not MIT-0"
		status=1
	done < <(files tools/examples/userspace tools/examples/python)
	return $status
}

# The example of alerts does what its tests say, and knows no metric that is not there. The
# package would start a server, so that it is only unpacked.
check_alerts() {
	local alerts=tools/packaging/prometheus promtool=$work/prometheus/usr/bin/promtool name

	if [ ! -x "$promtool" ]; then
		(cd "$work" && apt-get -q download prometheus) > "$work/alerts" 2>&1 ||
			{ tail -n 3 "$work/alerts"; return 1; }
		dpkg -x "$work"/prometheus_*.deb "$work/prometheus"
	fi
	"$promtool" check rules "$alerts/alerts.yml" > "$work/alerts" 2>&1 ||
		{ cat "$work/alerts"; return 1; }
	"$promtool" test rules "$alerts/alerts_test.yml" > "$work/alerts" 2>&1 ||
		{ cat "$work/alerts"; return 1; }
	while read -r name; do
		grep -q "\"$name\"" tools/cli/wheels.c && continue
		grep -q "twheel_$name" tools/cli/metrics.c && continue
		echo "$alerts/alerts.yml: there is no metric twheel_$name"
		return 1
	done < <(grep -oE '\btwheel_[a-z_]+' "$alerts/alerts.yml" | sed 's/^twheel_//' | sort -u)
}

# The table of what kernels have is right (make features, which locks the cache itself).
check_features() {
	local status=0

	exec 9>&-
	tools/test/features/run.sh > "$work/features" || status=1
	[ $status = 0 ] || cat "$work/features"
	lock_cache
	return $status
}

check_reuse() {
	reuse lint > "$work/reuse" || { cat "$work/reuse"; return 1; }
}

# One version, of the Makefile, wherever one is stated.
check_version() {
	tools/packaging/version.sh
}

passed=0 failed=0
for check in "${checks[@]}"; do
	start=$SECONDS
	if "check_${check//-/_}"; then
		say "  $check: good ($((SECONDS - start)) s)"
		passed=$((passed + 1))
	else
		echo "FAILED: $check"
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
