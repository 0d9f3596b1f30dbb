# SPDX-License-Identifier: GPL-2.0-only
# For people. What kbuild does is in Kbuild.

KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
export TWHEEL_CACHE ?= $(CURDIR)/.cache

.PHONY: all modules tools install modules_install tools_install check demo \
	bench engine faults style man man_install \
	clean distclean help
.DEFAULT_GOAL := all

all: modules

$(KDIR)/Makefile:
	@echo "twheel: no kernel headers at $(KDIR)" >&2
	@echo "  On Debian: apt install linux-headers-$$(uname -r)" >&2
	@echo "  For another kernel: make KDIR=/path/to/its/headers" >&2
	@false

modules: $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

install: modules_install

modules_install: $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install

tools:
	$(MAKE) -C tools

tools_install: tools
	$(MAKE) -C tools install PREFIX=$(PREFIX)

check:
	tools/vm/check.sh $(TESTS)

demo:
	tools/vm/demo.sh

bench:
	tools/vm/bench.sh

engine:
	tools/engine/run.sh

faults:
	tools/vm/faults.sh $(FAULTS)

style:
	tools/style.sh $(CHECKS)

man:
	tools/kernel_man.sh $(TWHEEL_CACHE)/man9 $(KDIR)

man_install: man
	install -d $(DESTDIR)$(PREFIX)/share/man/man9
	install -m 644 $(TWHEEL_CACHE)/man9/*.9 $(DESTDIR)$(PREFIX)/share/man/man9/

clean:
	$(MAKE) -C tools clean
	@if [ -e $(KDIR)/Makefile ]; then \
		$(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi

distclean: clean
	rm -rf $(CURDIR)/.cache

help:
	@echo 'make                  build twheel.ko for the running kernel'
	@echo 'make tools            build the command twheel, libtwheel, the examples'
	@echo 'make install          install the module (INSTALL_MOD_PATH=)'
	@echo 'make tools_install    the command, libtwheel, the udev rule (PREFIX=, DESTDIR=)'
	@echo 'make demo             a million timeouts on a stock kernel in QEMU'
	@echo 'make check            all tests, in QEMU'
	@echo 'make bench            what operations cost, beside what else Linux has'
	@echo 'make engine           the engine alone as a program, under sanitizers'
	@echo 'make faults           plant faults, and see the tests find them (long)'
	@echo 'make style            what programs can tell of style'
	@echo 'make man              manual pages of the in-kernel API; make man_install'
	@echo 'make clean            remove what was built here'
	@echo 'make distclean        and the cache of kernels'
	@echo
	@echo 'KDIR=path             kernel headers to build against'
	@echo 'TESTS="suite ..."     make check: only these suites or programs'
	@echo 'MODE=wall             make bench: nanoseconds instead of instructions'
	@echo 'COUNTS="1000 ..."     make bench: how many timers are pending'
	@echo 'HALF=kernel|user      make bench: only in the kernel, or in userspace'
	@echo 'CHARTS=1              make bench: renew the charts in tools/bench/charts'
	@echo 'CHECKS="name ..."     make style: only these'
	@echo 'FAULTS="name ..."     make faults: only these'
	@echo 'TWHEEL_CACHE=path     where kernels are kept (default: .cache)'
