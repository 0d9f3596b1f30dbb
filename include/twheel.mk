# SPDX-License-Identifier: GPL-2.0-only
# For the Kbuild file, or the Makefile that is one, of a module that uses twheel:
#
#	obj-m := mine.o
#	include /usr/src/twheel/include/twheel.mk
#
#	KDIR ?= /lib/modules/$(shell uname -r)/build
#	modules modules_install clean:
#		$(MAKE) -C $(KDIR) M=$(CURDIR) $@
#
# Assign ccflags-y with := before the include, or use += after it. It brings the headers and
# the versions of the symbols: those of the tree this file is in, where that has been built for
# the same kernel, or of the module that DKMS has built for it. In /usr/src, that of DKMS is first.

TWHEEL_TREE := $(patsubst %/include/twheel.mk,%, \
	$(realpath $(lastword $(MAKEFILE_LIST))))
TWHEEL_SYMVERS := $(TWHEEL_TREE)/Module.symvers
TWHEEL_SYMVERS := $(firstword $(wildcard $(filter-out /usr/src/%,$(TWHEEL_SYMVERS)) \
	/var/lib/dkms/twheel/kernel-$(KERNELRELEASE)-*/Module.symvers $(TWHEEL_SYMVERS)))

ccflags-y += -I$(TWHEEL_TREE)/include
KBUILD_EXTRA_SYMBOLS += $(TWHEEL_SYMVERS)

# Kbuild reads this file for several purposes; at this one it is needed.
ifneq ($(filter %/Makefile.modpost,$(MAKEFILE_LIST)),)
ifeq ($(TWHEEL_SYMVERS),)
$(error twheel is not built for Linux $(KERNELRELEASE): install twheel-dkms and \
	the headers of that kernel, or run make in $(TWHEEL_TREE))
endif
endif
