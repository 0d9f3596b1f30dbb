#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# install.sh TOOLS OUT: install what is built in TOOLS below OUT. Build a program with it as
# pkg-config says, and by CMake: with each library, from C and from C++.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 2 ] || die "usage: install.sh TOOLS OUT"
tools=$1 out=$2
rm -rf "$out"
mkdir -p "$out/program"
out=$(cd "$out" && pwd)
make -C "$ROOT/tools" OUT="$tools" install DESTDIR="$out/root" PREFIX=/usr \
	LIBDIR=/usr/lib/there
libraries=$out/root/usr/lib/there

cat > "$out/program/program.c" <<'END'
#include <stdio.h>
#include <twheel_device.h>

int main(void)
{
	struct twheel_info info;

	printf("%d\n", twheel_device_info(-1, &info));
	return 0;
}
END
cat > "$out/program/program.cpp" <<'END'
#include <cstdio>
#include <twheel/asio.hpp>
#include <twheel_device.h>

int main()
{
	boost::asio::io_context context;
	twheel *wheel = twheel_create(nullptr);
	twheel_info info;

	twheel_stop(wheel, nullptr, nullptr);
	try {
		twheel_asio asio(context, wheel);
	} catch (const boost::system::system_error &error) {
		if (error.code().value() == ESHUTDOWN)
			std::printf("%d\n", twheel_device_info(-1, &info));
	}
}
END
cat > "$out/program/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.13)
project(program LANGUAGES C CXX)
find_package(twheel @VERSION@ REQUIRED)
set(CMAKE_CXX_STANDARD 14)
add_executable(c_shared program.c)
target_link_libraries(c_shared twheel::twheel)
add_executable(cpp_shared program.cpp)
target_link_libraries(cpp_shared twheel::twheel)
add_executable(c_static program.c)
target_link_libraries(c_static twheel::static)
add_executable(cpp_static program.cpp)
target_link_libraries(cpp_static twheel::static)
END
version=$(sed -n 's/^VERSION := //p' "$ROOT/Makefile")
sed -i "s/@VERSION@/$version/" "$out/program/CMakeLists.txt"

# says COMMAND...: the program has found the library, which tells EBADF
says() {
	local said

	said=$(LD_LIBRARY_PATH=$libraries "$@") || said="status $?"
	[ "$said" = -9 ] || die "$1 says $said, not -9"
}

export PKG_CONFIG_PATH=$libraries/pkgconfig PKG_CONFIG_SYSROOT_DIR=$out/root
read -ra flags < <(pkg-config --cflags --libs libtwheel)
gcc -o "$out/program/c" "$out/program/program.c" "${flags[@]}"
says "$out/program/c"
g++ -o "$out/program/cpp" "$out/program/program.cpp" "${flags[@]}" -pthread
says "$out/program/cpp"
[ "$(pkg-config --modversion libtwheel)" = "$version" ] || die "pkg-config: not $version"

cmake -S "$out/program" -B "$out/build" -DCMAKE_PREFIX_PATH="$out/root/usr" \
	-Dtwheel_DIR="$libraries/cmake/twheel"
make -C "$out/build"
for program in {c,cpp}_{shared,static}; do
	says "$out/build/$program"
done
# A newer one than this is not found, nor one with another API.
for other in "$version.1" 0.2; do
	sed -i "s/^find_package(twheel [0-9.]*/find_package(twheel $other/" \
		"$out/program/CMakeLists.txt"
	! cmake -S "$out/program" -B "$out/other" -Dtwheel_DIR="$libraries/cmake/twheel" ||
		die "CMake takes version $version for $other"
done
