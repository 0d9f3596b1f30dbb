# SPDX-License-Identifier: GPL-2.0-only
# For people. What kbuild does is in Kbuild.

# The one place that says the version. tools/ takes it from here; what has to say it again
# is checked against it, and set by tools/packaging/version.sh.
VERSION := 0.2.0

KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
export TWHEEL_CACHE ?= $(CURDIR)/.cache

.PHONY: all modules install modules_install tools tools_install check \
	matrix demo bench engine models faults style packages intree \
	intree-check man man_install torture attack fuzz modules_clean \
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
	@# Kbuild leaves this out where there is no System.map, as in Debian's headers.
	depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $$(sed -n \
		's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)

tools:
	$(MAKE) -C tools

tools_install: tools
	$(MAKE) -C tools install PREFIX=$(PREFIX)

check:
	tools/test/vm/check.sh $(TESTS)

matrix:
	tools/test/vm/matrix.sh $(KERNELS)

demo:
	tools/test/vm/demo.sh

bench:
	tools/bench/run.sh

engine:
	tools/test/engine/run.sh

models:
	tools/test/models/run.sh $(MODELS)

faults:
	tools/test/faults/run.sh $(FAULTS)

style:
	tools/style/run.sh $(CHECKS)

packages:
	tools/test/vm/packages.sh

intree:
	tools/packaging/intree.sh $(if $(REMOVE),--remove) $(TREE)

intree-check:
	tools/test/vm/intree.sh

man:
	tools/man/kernel.sh $(TWHEEL_CACHE)/man9 $(KDIR)

man_install: man
	install -d $(DESTDIR)$(PREFIX)/share/man/man9
	install -m 644 $(TWHEEL_CACHE)/man9/*.9 $(DESTDIR)$(PREFIX)/share/man/man9/

torture:
	tools/test/vm/torture.sh

attack:
	tools/test/vm/attack.sh $(ATTACKS)

fuzz:
	tools/test/vm/fuzz.sh

modules_clean:
	@if [ -e $(KDIR)/Makefile ]; then \
		$(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi

clean: modules_clean
	$(MAKE) -C tools clean

distclean: clean
	rm -rf $(CURDIR)/.cache

help:
	@echo 'make                  build twheel.ko for the running kernel'
	@echo 'make tools            build the command twheel, libtwheel, the examples'
	@echo 'make install          install the module (INSTALL_MOD_PATH=)'
	@echo 'make tools_install    the command, libtwheel, the udev rule (PREFIX=, DESTDIR=)'
	@echo 'make demo             a million timeouts on a stock kernel in QEMU'
	@echo 'make check            all tests, in QEMU'
	@echo 'make matrix           all tests on each of many kernels, and a table (hours)'
	@echo 'make bench            what operations cost, beside what else Linux has'
	@echo 'make engine           the engine alone as a program, under sanitizers'
	@echo 'make models           the protocols between CPUs, every interleaving of them'
	@echo 'make faults           plant faults, and see the tests find them (long)'
	@echo 'make style            what programs can tell of style'
	@echo 'make packages         Debian packages; installed, tried, removed (as root)'
	@echo 'make intree TREE=path lay twheel into the source of a kernel (REMOVE=1)'
	@echo 'make intree-check     and build it there, and run its tests (long)'
	@echo 'make man              manual pages of the in-kernel API; make man_install'
	@echo 'make torture          everything at once, for a time, with books kept'
	@echo 'make attack           be a nuisance, and see what neighbours notice of it'
	@echo 'make fuzz             fuzz the device, guided by coverage, in QEMU'
	@echo 'make clean            remove what was built here'
	@echo 'make distclean        and the cache of kernels'
	@echo
	@echo 'KDIR=path             kernel headers to build against'
	@echo 'TESTS="suite ..."     make check: only these suites or programs'
	@echo 'KERNELS="row ..."     make matrix: only these rows of tools/test/vm/rows'
	@echo 'MINUTES=n             make matrix: for all rows; what has no time is skipped'
	@echo 'MODE=wall             make bench: nanoseconds instead of instructions'
	@echo 'COUNTS="1000 ..."     make bench: how many timers are pending'
	@echo 'HALF=kernel|user      make bench: only in the kernel, or in userspace'
	@echo 'CHARTS=1              make bench: renew the charts in tools/bench/charts'
	@echo 'CHECKS="name ..."     make style: only these'
	@echo 'COVERAGE=1            make engine: how much of the engine is reached'
	@echo 'FUZZ=seconds          make engine: have libFuzzer play with it so long'
	@echo 'ATTACKS="name ..."    make attack: only these, and what they are compared with'
	@echo 'FAULTS="name ..."     make faults: only these'
	@echo 'MODELS="name ..."     make models: only these'
	@echo 'KERNEL=debug|stock    make torture: only on that kernel'
	@echo 'TIME=s OPS=n          make torture: how long each scenario, how many operations'
	@echo 'SCENARIOS="name ..."  make torture: only these'
	@echo 'BROKEN=1 FLAVOUR=name make torture: plant faults, and see them caught'
	@echo 'SEED=, TIME=, CALLS=  make fuzz: dice, seconds a guest, calls in all'
	@echo 'KERNELS="kernel ..."  make fuzz: only these of debug stock coarse'
	@echo 'REPLAY=path           make fuzz: run this program again and again'
	@echo 'MERGE=1, BROKEN=1     make fuzz: renew the corpus; see faults found'
	@echo 'TWHEEL_CACHE=path     where kernels are kept (default: .cache)'
