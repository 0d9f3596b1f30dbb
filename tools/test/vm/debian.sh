# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Debian's kernels, of the machine's own suite and of others. Packages of other suites are
# unpacked in the cache and never installed. lib.sh reads this file.

# Series of kernels that a suite is known to have: packages of sources, and stock kernels.
# shellcheck disable=SC2034 # scripts that source this use them
SOURCE_SERIES=(6.1 6.12 7.2) STOCK_SERIES=(5.10 6.1 6.12)

# own_source SUITE FOLDER [TYPE]: write the machine's own source entry, changed to SUITE and to
# that type, deb or deb-src, into FOLDER. The first entry of the machine's suite counts, in either
# of apt's two formats.
own_source() {
	local own files=() file type=${3:-deb}

	own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	[ -n "$own" ] || die "/etc/os-release has no VERSION_CODENAME" \
		"run this on Debian 12"
	for file in /etc/apt/sources.list.d/*.sources; do
		[ ! -e "$file" ] || files+=("$file")
	done
	[ ${#files[@]} = 0 ] || awk -v RS= -v own="$own" -v suite="$1" -v type="$type" '
		$0 ~ "(^|\n)Suites:[^\n]*[ \t]" own "([ \t\n]|$)" {
			sub(/Types:[^\n]*/, "Types: " type)
			sub(/Suites:[^\n]*/, "Suites: " suite)
			sub(/Components:[^\n]*/, "Components: main")
			print
			exit
		}' "${files[@]}" > "$SCRATCH/entry"
	if [ -s "$SCRATCH/entry" ]; then
		mv "$SCRATCH/entry" "$2/other.sources"
		return
	fi
	files=()
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ ! -e "$file" ] || files+=("$file")
	done
	[ ${#files[@]} = 0 ] || sed -n "/^deb .* $own /{
		s/^deb \(.*\) $own .*/$type \1 $1 main/p
		q
	}" "${files[@]}" > "$2/other.list"
	[ -s "$2/other.list" ] ||
		die "apt has no source of $own to make one of $1 from" \
		    "see /etc/apt/sources.list and /etc/apt/sources.list.d"
}

# suite SUITE [ARCHITECTURE]: set suite_apt to the options by which apt reads that suite, and
# leaves the machine's own lists alone. "source" is for packages of sources. Set suite_folder to
# where it keeps things. Lists older than a day are read again; without a network old ones will do.
suite() {
	local folder=$CACHE/apt-$1${2:+-$2} type=deb

	# shellcheck disable=SC2034 # for arch.sh
	suite_folder=$folder
	mkdir -p "$folder"/{parts,lists/partial,cache/archives/partial}
	suite_apt=(-q -oDir::Etc::sourcelist=/dev/null
		-oDir::Etc::sourceparts="$folder/parts"
		-oDir::State::lists="$folder/lists" -oDir::Cache="$folder/cache"
		-oDir::State::status=/dev/null -oAPT::Sandbox::User=root)
	case ${2:-} in
	'') ;;
	source) type=deb-src ;;
	*) suite_apt+=(-oAPT::Architecture="$2" -oAPT::Architectures="$2") ;;
	esac
	[ -z "$(find "$folder/read" -mtime -1 2>/dev/null)" ] || return 0
	rm -f "$folder"/parts/*
	own_source "$1" "$folder/parts" "$type"
	say "reading the package lists of Debian's $1${2:+ for $2}"
	if apt-get "${suite_apt[@]}" --error-on=any update \
		> "$folder/update.log" 2>&1 < /dev/null; then
		touch "$folder/read"
	elif [ -e "$folder/read" ]; then
		say "  cannot be read; those of $(date -r "$folder/read" +%F) will do"
	else
		tail -n 5 "$folder/update.log" >&2
		die "the lists of $1 cannot be read, see above" \
		    "is there a network? the whole log: $folder/update.log"
	fi
}

# suite_version PACKAGE: the version that the suite has
suite_version() {
	apt-cache "${suite_apt[@]}" show "$1" 2>/dev/null |
		sed -n 's/^Version: //p' | head -n 1
}

# suite_depends PACKAGE: its dependencies in that suite
suite_depends() {
	apt-cache "${suite_apt[@]}" show "$1" 2>/dev/null |
		sed -n 's/^Depends: //p' | head -n 1
}

# suite_fetch FOLDER PACKAGE...: into that folder
suite_fetch() {
	local folder=$1

	shift
	run_logged "$CACHE/fetch.log" "fetching $*" \
		env -C "$folder" apt-get "${suite_apt[@]}" download "$@"
}

# suite_tool SUITE PROGRAM PACKAGE...: a program of that suite, unpacked in the cache with
# the C library that it wants. Sets tool, its folder, and tool_command, which runs it.
suite_tool() {
	local suite=$1 program=$2 package libraries

	shift 2
	tool=$CACHE/$program libraries=$tool/usr/lib/x86_64-linux-gnu
	# shellcheck disable=SC2034 # scripts that source this run it
	tool_command=("$libraries/ld-linux-x86-64.so.2"
		--library-path "$libraries:$tool/usr/lib" "$tool/usr/bin/$program")
	[ ! -e "$tool/usr/bin/$program" ] || return 0
	suite "$suite"
	mkdir -p "$SCRATCH/packages" "$tool.part"
	suite_fetch "$SCRATCH/packages" "$@"
	for package in "$SCRATCH"/packages/*.deb; do
		dpkg -x "$package" "$tool.part"
	done
	rm -rf "$tool"
	mv "$tool.part" "$tool"
}

# suite_source SUITE PACKAGE: the source of that package, with Debian's own patches, unpacked in the
# cache. Sets source_folder.
suite_source() {
	local package=$2 version

	suite "$1" source
	version=$(apt-cache "${suite_apt[@]}" showsrc --only-source "$package" |
		sed -n 's/^Version: //p' | head -n 1)
	[ -n "$version" ] || die "$1 has no source of $package" \
		"see what it has, and say so where suite_source is called"
	source_folder=$CACHE/source-$package-$version
	[ ! -e "$source_folder" ] || return 0
	mkdir -p "$SCRATCH/$package"
	run_logged "$CACHE/fetch.log" "fetching the source of $package $version" \
		env -C "$SCRATCH/$package" apt-get "${suite_apt[@]}" source "$package=$version"
	mv "$SCRATCH/$package"/*/ "$source_folder"
}

# kernel_source SERIES: where the unpacked source is. Sets source_version and
# source_folder.
kernel_source() {
	local package=linux-source-$1 suite

	# 6.1 is of the suite that all this is for; the others are read from theirs.
	case $1 in
	6.1) suite='' ;;
	6.12) suite=trixie ;;
	7.2) suite=sid ;;
	*) die "no suite is known to have $package" \
		"say which in kernel_source of tools/test/vm/debian.sh" ;;
	esac
	if [ -z "$suite" ]; then
		need "$package"
		source_version=$(dpkg-query -W -f '${Version}' "$package")
	else
		suite "$suite"
		source_version=$(suite_version "$package")
		[ -n "$source_version" ] || die "$suite has no $package any more" \
			"see what it has, and say so in tools/test/vm/debian.sh"
	fi
	source_folder=$CACHE/source-$source_version
	[ ! -e "$source_folder/Makefile" ] || return 0

	rm -rf "$source_folder.part"
	mkdir -p "$source_folder.part"
	if [ -n "$suite" ]; then
		suite_fetch "$SCRATCH" "$package=$source_version"
		dpkg-deb --fsys-tarfile "$SCRATCH/$package"_*.deb |
			tar -xO "./usr/src/$package.tar.xz" > "$SCRATCH/source.tar.xz"
		rm -- "$SCRATCH/$package"_*.deb
	else
		cp "/usr/src/$package.tar.xz" "$SCRATCH/source.tar.xz"
	fi
	run_logged "$CACHE/unpack.log" "unpacking the kernel source $source_version" \
		tar -xf "$SCRATCH/source.tar.xz" -C "$source_folder.part" \
		--strip-components=1
	rm -- "$SCRATCH/source.tar.xz"
	mv "$source_folder.part" "$source_folder"
}

# stock_headers [SERIES [FLAVOUR]]: of Debian's own kernel, the one that the headers package
# of that flavour (amd64 or rt-amd64) depends on. Sets stock_release, stock_headers and
# stock_image. 6.1 is the machine's own, its headers get installed. The others' are there once
# stock_kernel has run. Sets what that needs: series, package, version, folder.
stock_headers() {
	local meta=linux-headers-${2:-amd64}

	series=${1:-6.1}
	case $series in
	6.1)
		need "$meta"
		package=$(dpkg-query -W -f '${Depends}' "$meta")
		version=$(dpkg-query -W -f '${Version}' "$meta") ;;
	5.10)
		# Of Debian 11.
		need gcc libelf1 zlib1g
		suite bullseye
		package=$(suite_depends "$meta")
		version=$(suite_version "$meta") ;;
	6.12)
		# Debian 12's compiler and libraries serve linux-kbuild's programs.
		need gcc libelf1 libssl3 pahole zlib1g
		suite bookworm-backports
		package=$(suite_depends "$meta")
		version=$(suite_version "$meta") ;;
	*) die "no suite is known to have a stock kernel $series" \
		"say which in stock_kernel of tools/test/vm/debian.sh" ;;
	esac
	package=$(grep -o "linux-headers-${series}[^ ,]*" <<< "$package" |
		head -n 1) ||
		die "$meta is not of a kernel $series" \
		    "see what the suite has, and say so in tools/test/vm/debian.sh"
	stock_release=${package#linux-headers-}
	folder=$CACHE/stock-$stock_release-$version
	stock_image=$folder/vmlinuz
	stock_headers=/usr/src/$package
	[ "$series" = 6.1 ] || stock_headers=$folder$stock_headers
}

# stock_kernel [SERIES [FLAVOUR]]: the same, and the kernel itself. Each image, and headers but
# those of 6.1, are unpacked in the cache.
stock_kernel() {
	local series package version folder

	stock_headers "$@"
	[ ! -e "$stock_image" ] || return 0

	rm -rf "$folder.part"
	mkdir "$folder.part"
	if [ "$series" = 6.1 ]; then
		# As root: the user that apt fetches as could not write there.
		run_logged "$CACHE/stock.log" \
			"fetching Debian's kernel $stock_release" \
			env -C "$folder.part" \
			apt-get -q -o APT::Sandbox::User=root \
			download "linux-image-$stock_release=$version"
	else
		stock_packages "$folder.part" "$package" "$version"
	fi
	dpkg-deb --fsys-tarfile "$folder.part"/linux-image-*.deb |
		tar -x --wildcards -O './boot/vmlinuz-*' > "$folder.part/vmlinuz"
	rm -- "$folder.part"/*.deb
	mv "$folder.part" "$folder"
}

# stock_modules: after stock_kernel 6.1, its own modules, unpacked in the cache: those for
# networks, and what they are made of. Sets stock_tree, below which they are lib/modules.
stock_modules() {
	local version

	version=$(dpkg-query -W -f '${Version}' linux-headers-amd64)
	stock_tree=$CACHE/modules-$stock_release-$version
	[ ! -e "$stock_tree/lib/modules/$stock_release/modules.dep" ] || return 0

	rm -rf "$stock_tree" "$stock_tree.part"
	mkdir "$stock_tree.part"
	run_logged "$CACHE/stock.log" "fetching the modules of $stock_release" \
		env -C "$stock_tree.part" \
		apt-get -q -o APT::Sandbox::User=root \
		download "linux-image-$stock_release=$version"
	dpkg-deb --fsys-tarfile "$stock_tree.part"/linux-image-*.deb |
		tar -x -C "$stock_tree.part" --wildcards './lib/modules/*/modules.*' \
		'./lib/modules/*/kernel/net' './lib/modules/*/kernel/lib' \
		'./lib/modules/*/kernel/crypto' './lib/modules/*/kernel/arch' \
		'./lib/modules/*/kernel/drivers/net'
	rm -- "$stock_tree.part"/*.deb
	run_logged "$CACHE/stock.log" "looking at what they need" \
		depmod -b "$stock_tree.part" "$stock_release"
	mv "$stock_tree.part" "$stock_tree"
}

# stock_packages FOLDER HEADERS VERSION: a stock kernel's packages, and the headers
# unpacked. They name each other by the path that they would be installed at.
stock_packages() {
	local folder=$1 headers=$2 version=$3 package packages

	mapfile -t packages < <(suite_depends "$headers" |
		grep -oE 'linux-(headers|kbuild)-[^ ,]*')
	[ ${#packages[@]} = 2 ] ||
		die "$headers depends on ${packages[*]}: not a pair that we know" \
		    "see stock_packages in tools/test/vm/debian.sh"
	suite_fetch "$folder" "$headers=$version" "${packages[@]/%/=$version}" \
		"linux-image-${headers#linux-headers-}=$version"
	for package in "$folder"/linux-{headers,kbuild}-*.deb; do
		dpkg -x "$package" "$folder"
	done
	sed -i "s|^include /usr/src/|include ${folder%.part}/usr/src/|" \
		"$folder/usr/src/$headers/Makefile"
	# They name the compiler of their suite; this machine has its own.
	sed -i 's/gcc-10$/gcc/' "$folder/usr/src/$headers/.kernelvariables"
}
