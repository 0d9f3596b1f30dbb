# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What differs between architectures, in one place. Those here are emulated in software;
# x86-64, where everything runs without this, is not among them. GUEST_ARCH of the
# environment says for which one scripts work. lib.sh reads this file.
# Seen as a single file, this does not show who uses what.
# shellcheck disable=SC2034,SC2154

ARCHITECTURES=(arm64 s390x riscv64 arm i386)

# architecture NAME: set the facts of it; fails if there is no such one.
#   arch_kernel	what the kernel's make calls it
#   arch_image	what is booted, in the kernel's build folder
#   arch_triplet	what compilers call it; arch_debian: what Debian does
#   arch_cross	the cross compiler's part of package names; empty: gcc -m32 serves
#   arch_suite	the suite of Debian that its programs are taken from
#   arch_ld	the version of LLVM whose linker serves; empty: that of binutils
#   arch_qemu	the machine; arch_needs: Debian's packages that it takes
#   arch_newer	the suite of Debian that the emulator is taken from; empty: the machine's own
#   arch_console	the kernel's word for the console
#   arch_port	the device that results are written to, if it is no second serial port
#   arch_words	words for the kernel's command line; COUNT is one more than its CPUs
architecture() {
	arch_kernel=$1 arch_debian=$1 arch_cross='' arch_suite=bookworm arch_words=''
	arch_ld='' arch_newer=''
	arch_port=(-device "virtio-serial-device" -device "virtconsole,chardev=port")
	case $1 in
	arm64)
		arch_image=arch/arm64/boot/Image arch_triplet=aarch64-linux-gnu
		arch_cross=arm64 arch_needs=(qemu-system-arm)
		# Authentication of pointers by the real cipher costs half of the time.
		arch_qemu=(qemu-system-aarch64 -M virt -cpu 'max,pauth-impdef=on')
		arch_console=ttyAMA0 ;;
	s390x)
		arch_kernel=s390 arch_image=arch/s390/boot/bzImage
		arch_triplet=s390x-linux-gnu arch_cross=s390x
		arch_needs=(qemu-system-misc)
		# QEMU before 8.1 computes LARL of 2 GB ahead as 2 GB behind, and a per-CPU variable
		# of a module is as far away. It also runs code of a module that has gone.
		arch_newer=bookworm-backports
		arch_qemu=("$CACHE/qemu-system-s390x/usr/bin/qemu-system-s390x"
			-M s390-ccw-virtio -cpu max)
		arch_port=(-device virtio-serial-ccw -device "virtconsole,chardev=port")
		arch_console=ttyS0 arch_words='possible_cpus=COUNT' ;;
	riscv64)
		arch_kernel=riscv arch_image=arch/riscv/boot/Image
		arch_triplet=riscv64-linux-gnu arch_cross=riscv64
		# Debian 12 has no such packages. Its own linker dies of the newer libc.a.
		arch_suite=forky arch_ld=19 arch_needs=(qemu-system-misc opensbi)
		arch_qemu=(qemu-system-riscv64 -M virt -cpu rv64)
		# QEMU 7.2 names the CPU's instructions in a way that 6.12 has to be asked to read.
		arch_console=ttyS0 arch_words=riscv_isa_fallback ;;
	arm)
		arch_image=arch/arm/boot/zImage arch_triplet=arm-linux-gnueabihf
		arch_debian=armhf arch_cross=armhf arch_needs=(qemu-system-arm)
		arch_qemu=(qemu-system-arm -M virt -cpu cortex-a15)
		arch_console=ttyAMA0 ;;
	i386)
		arch_image=arch/x86/boot/bzImage arch_triplet=i386-linux-gnu
		arch_needs=(qemu-system-x86)
		# By itself it would be an Athlon, of which 6.1 warns that two are too many.
		arch_qemu=(qemu-system-i386 -cpu 'max,vendor=GenuineIntel')
		arch_port=() arch_console=ttyS0 arch_words='possible_cpus=COUNT' ;;
	*) return 1 ;;
	esac
}

# use_architecture NAME: what scripts run from now on is for it: kernels, modules, programs
use_architecture() {
	local linker

	architecture "$1" || die "there is no architecture $1" "see tools/test/vm/arch.sh"
	export GUEST_ARCH=$1 ARCH=$arch_kernel
	arch_root=$CACHE/root-$1
	arch_gcc=$CACHE/gcc-$1
	arch_prefix=${arch_cross:+$arch_triplet-}
	if [ -n "$arch_cross" ]; then
		export PATH=$arch_gcc/usr/bin:$PATH CROSS_COMPILE=$arch_prefix
		linker=${arch_ld:+ -fuse-ld=lld -B/usr/lib/llvm-$arch_ld/bin}
		CC="${arch_prefix}gcc --sysroot=$arch_root$linker"
		CXX="${arch_prefix}g++ --sysroot=$arch_root$linker"
		export AR=${arch_prefix}ar
	else
		CC="gcc -m32 --sysroot=$arch_root" CXX="g++ -m32 --sysroot=$arch_root"
	fi
	read -ra COMPILER <<< "$CC"
	export CC CXX PKG_CONFIG_SYSROOT_DIR=$arch_root
	export PKG_CONFIG_LIBDIR=$arch_root/usr/lib/$arch_triplet/pkgconfig:$arch_root/usr/share/pkgconfig
}

# emulator: get that of this architecture
emulator() {
	local name=${arch_qemu[0]##*/}

	need "${arch_needs[@]}"
	[ -z "$arch_newer" ] || suite_tool "$arch_newer" "$name" "$name" qemu-system-data
}

# cross_compiler: get that of this architecture. Debian's packages of cross compilers and
# gcc-multilib exclude each other, although only the programs gcc and g++ need to. So these
# are unpacked in the cache, and nothing is removed from the machine.
cross_compiler() {
	local cpp=cpp-12-$arch_triplet version package program

	if [ -z "$arch_cross" ]; then
		need gcc-multilib g++-multilib
		return
	fi
	need "binutils-$arch_triplet" "$cpp" "libgcc-12-dev-$arch_cross-cross" \
		${arch_ld:+"lld-$arch_ld"}
	version=$(dpkg-query -W -f '${Version}' "$cpp")
	[ "$(cat "$arch_gcc/version" 2> /dev/null)" != "$version" ] || return 0
	rm -rf "$arch_gcc" "$arch_gcc.part"
	mkdir "$arch_gcc.part"
	run_logged "$CACHE/fetch.log" "fetching the compiler for $GUEST_ARCH" \
		env -C "$arch_gcc.part" apt-get -q -oAPT::Sandbox::User=root \
		download "gcc-12-$arch_triplet=$version" "g++-12-$arch_triplet=$version" \
		"libstdc++-12-dev-$arch_cross-cross=$version"
	for package in "$arch_gcc.part"/*.deb; do
		dpkg -x "$package" "$arch_gcc.part"
		rm "$package"
	done
	# It looks for its parts, of which other packages have most, from where it is itself.
	cp -rsn "/usr/lib/gcc-cross/$arch_triplet" "$arch_gcc.part/usr/lib/gcc-cross/"
	mkdir -p "$arch_gcc.part/usr/$arch_triplet"
	ln -s "/usr/$arch_triplet/bin" "$arch_gcc.part/usr/$arch_triplet/bin"
	for program in gcc g++; do
		ln -s "$arch_triplet-$program-12" \
			"$arch_gcc.part/usr/bin/$arch_triplet-$program"
	done
	echo "$version" > "$arch_gcc.part/version"
	mv "$arch_gcc.part" "$arch_gcc"
}

# What programs are linked to, and what runs in guests.
GUEST_PACKAGES=(busybox-static libc6-dev libev-dev libuv1-dev libevent-dev libsystemd-dev
	libglib2.0-dev libboost-dev liburing-dev strace)

# arch_packages PACKAGE...: unpack these packages of the architecture, and all that they
# depend on, below arch_root
arch_packages() {
	local package

	[ "$(cat "$arch_root/packages" 2> /dev/null)" != "$arch_suite $*" ] || return 0
	suite "$arch_suite" "$arch_debian"
	rm -rf "$arch_root" "$arch_root.part"
	run_logged "$CACHE/fetch.log" "fetching programs and libraries for $GUEST_ARCH" \
		apt-get "${suite_apt[@]}" --no-install-recommends -y \
		--download-only install "$@"
	for package in "$suite_folder"/cache/archives/*.deb; do
		dpkg -x "$package" "$arch_root.part"
		rm "$package"
	done
	# Newer releases of Debian have all files below /usr, and links to there at the root.
	[ -e "$arch_root.part/lib" ] || ln -s usr/lib "$arch_root.part/lib"
	echo "$arch_suite $*" > "$arch_root.part/packages"
	mv "$arch_root.part" "$arch_root"
}

# arch_program NAME: where that is below arch_root
arch_program() {
	local where

	for where in "$arch_root"{,/usr}/bin; do
		[ ! -e "$where/$1" ] || { echo "$where/$1"; return; }
	done
	die "Debian's $arch_suite has no $1 for $GUEST_ARCH"
}

# libraries_of PROGRAM FOLDER: the libraries that it is linked to, and those of the libraries.
# They are files of FOLDER or of arch_root. ldd would say this if it could run here.
libraries_of() {
	local waiting=("$1") seen=' ' file name where

	while [ ${#waiting[@]} -gt 0 ]; do
		file=${waiting[0]}
		waiting=("${waiting[@]:1}")
		while read -r name; do
			[[ $seen != *" $name "* ]] || continue
			seen+="$name "
			for where in "$2" "$arch_root"{,/usr}/lib{/"$arch_triplet",}; do
				[ -e "$where/$name" ] || continue
				echo "$where/$name"
				waiting+=("$where/$name")
				continue 2
			done
			die "$1 is linked to $name, which is not there" \
				"say in tools/test/vm/tests.sh which package has it"
		done < <(readelf -ld "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p
			s|.*program interpreter: .*/\(.*\)\]|\1|p')
	done
}
