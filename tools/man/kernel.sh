#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make man: the manual pages of the in-kernel API, section 9, from the comments in the
# sources. kernel.sh OUT [KDIR] writes them to OUT. It uses the program kernel-doc of the
# headers KDIR, of a kernel source in the cache, or of other headers. It is Perl, and Python
# from Linux 6.19 on. Without one it makes no pages, and says so.
# shellcheck source=../test/vm/lib.sh
. "$(dirname "$0")/../test/vm/lib.sh"

[ $# = 1 ] || [ $# = 2 ] || die "usage: kernel.sh OUT [KDIR]"
out=$1
need mandoc perl python3
tool=
for folder in "${2:-}" "$CACHE"/source-* /usr/src/linux-headers-*; do
	for path in scripts tools/docs; do
		[ -n "$tool" ] || [ ! -x "$folder/$path/kernel-doc" ] ||
			tool=$folder/$path/kernel-doc
	done
done
mkdir -p "$out"
rm -f "$out"/*.9
if [ -z "$tool" ]; then
	say "no kernel-doc in the kernel's headers, so no pages of section 9"
	exit
fi
cd "$ROOT"
# A page for each call that modules can make: exported, or inline in a header. Each page
# names the header to include, which kernel-doc does not.
for file in include/linux/*.h; do
	header=${file#include/}
	# linux/twheel.h includes these.
	[[ $header != linux/twheel_@(init|node).h ]] || header=linux/twheel.h
	sed -nE "s|^(#define )?([a-z].*[ *])?(_*twheel_\w+)\(.*|$header \3|p
		s|^ \* ((enum\|struct\|typedef) )?(_*twheel_\w+)(\(\))? - .*|$header \3|p" "$file"
done > "$SCRATCH/headers"
for file in include/linux/*.h module/core/*.c; do
	names=()
	while read -r name; do
		[[ $file == include/* ]] || grep -q "^TW_EXPORT($name);" "$file" ||
			continue
		names+=(-function "$name")
	done < <(sed -nE 's/^ \* ((enum|struct|typedef) )?(_*twheel_\w+)(\(\))? - .*/\3/p' \
		"$file")
	[ ${#names[@]} -gt 0 ] || continue
	"$tool" -man "${names[@]}" "$file" > "$SCRATCH/pages" 2> "$SCRATCH/log" ||
		die "$(cat "$SCRATCH/log")"
	awk -v out="$out" -v headers="$SCRATCH/headers" '
		BEGIN {
			while ((getline < headers) > 0)
				header[$2] = $1
		}
		/^\.TH /	{ close(page); name = "" }
		/^\.SH NAME/	{ wanted = 1; next }
		wanted		{ wanted = 0
				  # whatis takes one word.
				  sub(/^(struct|enum|typedef) /, "")
				  match($0, /_*twheel_[a-z_]*/)
				  name = substr($0, RSTART, RLENGTH)
				  page = out "/" name ".9"
				  printf ".TH \"%s\" 9 \"\" twheel \"twheel in the kernel\"\n.SH NAME\n", name >> page }
		# That of Python ends with the path of the source.
		/^\.SH "SEE ALSO"/	{ name = "" }
		!name		{ next }
		# Make lists of its lists, and drop blank lines before macros.
		/^\* /		{ print ".IP \\(bu 2" >> page; sub(/^\* /, "") }
		/^$/		{ gap = text; next }
		gap && !/^\./	{ print ".PP" >> page }
		{ gap = 0; text = !/^\./; print >> page }
		/^\.SH SYNOPSIS/	{ printf "#include <%s>\n.br\n", header[name] >> page }
	' "$SCRATCH/pages"
done

# Every exported function has a page, and man can show it.
count=0 problem=
while read -r name; do
	[ -s "$out/$name.9" ] || problem="$name has no page"
	mandoc -T ascii -W error "$out/$name.9" > "$SCRATCH/shown" 2> "$SCRATCH/log" ||
		problem="$name.9: $(head -n 1 "$SCRATCH/log")"
	grep -q "$name" "$SCRATCH/shown" || problem="$name.9 does not show $name"
	[ -z "$problem" ] || die "$problem" "see its comment in the sources"
	count=$((count + 1))
done < <(sed -n 's/^TW_EXPORT(\(.*\));$/\1/p' module/core/*.c)
say "$(find "$out" -name '*.9' | wc -l) pages in $out, among them all $count exported functions"
