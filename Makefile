# SPDX-License-Identifier: GPL-2.0-only
# For people. What kbuild does is in Kbuild.

# The version, in one place. tools/ and debian/ take it from here. Files that must repeat it
# are checked against it, and set, by tools/packaging/version.sh.
VERSION := 1.0.0

KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
ifneq ($(word 2,x$(DESTDIR)$(PREFIX)$(INSTALL_MOD_PATH)),)
$(error twheel: DESTDIR, PREFIX and INSTALL_MOD_PATH may not have spaces)
endif
export TWHEEL_CACHE ?= $(CURDIR)/.cache

.PHONY: all modules install modules_install uninstall modules_uninstall tools tools_install \
	tools_uninstall man man_install man_uninstall \
	demo modules_clean clean distclean help \
	dist packages rpm intree intree-check series series-check \
	check quick library simulation interleave engine style features matrix bench models proofs torture restore fuzz attack ports programs mutants
.DEFAULT_GOAL := all

all: modules

$(KDIR)/Makefile:
	@echo "twheel: no kernel headers at $(KDIR)" >&2
	@echo "  On Debian: apt install linux-headers-$$(uname -r)" >&2
	@echo "  For another kernel: make KDIR=/path/to/its/headers" >&2
	@false

modules: $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

# Of the kernel that KDIR is for.
RELEASE = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)
DEPMOD = depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $(RELEASE)

install: modules_install

modules_install: $(KDIR)/Makefile
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install
	@# Kbuild leaves this out where there is no System.map, as in Debian's headers.
	$(DEPMOD)

uninstall: modules_uninstall

# Kbuild's folder is extra or updates, by the kernel. DKMS has one of its own in it.
modules_uninstall: $(KDIR)/Makefile
	for folder in $(or $(INSTALL_MOD_DIR),extra updates); do \
		folder=$(INSTALL_MOD_PATH)/lib/modules/$(RELEASE)/$$folder; \
		rm -f $$folder/module/twheel.ko*; \
		for empty in $$folder/module $$folder; do [ ! -d $$empty ] || \
			rmdir --ignore-fail-on-non-empty $$empty || exit; done; done
	$(DEPMOD)

tools:
	$(MAKE) -C tools lib command examples

tools_install: tools
	$(MAKE) -C tools install PREFIX=$(PREFIX)

tools_uninstall:
	$(MAKE) -C tools uninstall PREFIX=$(PREFIX)

man:
	tools/man/kernel.sh $(TWHEEL_CACHE)/man9 $(KDIR)

man_install: man
	install -d $(DESTDIR)$(PREFIX)/share/man/man9
	install -m 644 $(TWHEEL_CACHE)/man9/*.9 $(DESTDIR)$(PREFIX)/share/man/man9/

man_uninstall: man
	cd $(TWHEEL_CACHE)/man9 && for page in *.9; do \
		rm -f $(DESTDIR)$(PREFIX)/share/man/man9/$$page || exit; done

demo:
	tools/test/vm/demo.sh

modules_clean:
	@if [ -e $(KDIR)/Makefile ]; then \
		$(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi

clean: modules_clean
	@# DKMS has the module alone.
	$(if $(wildcard tools/Makefile),$(MAKE) -C tools clean)

distclean: clean
	rm -rf $(CURDIR)/.cache

dist:
	tools/packaging/dist.sh

packages:
	tools/test/vm/packages.sh

rpm:
	tools/test/vm/rpm.sh

intree:
	tools/packaging/intree.sh $(if $(REMOVE),--remove) $(TREE)

intree-check:
	tools/test/vm/intree.sh

series:
	tools/packaging/series.sh $(OUT) $(TREE)

series-check:
	tools/test/vm/series.sh

# IN=podman or IN=docker: in a container. TESTS= names tests of the virtual machines.
check:
ifdef IN
	tools/test/vm/in.sh $(IN) check
else
	$(if $(TESTS),,$(MAKE) quick)
	tools/test/vm/row.sh debug-6.1 $(TESTS)
endif

quick:
	tools/test/engine/run.sh
	tools/test/simulation/run.sh
	tools/test/library/run.sh
	tools/test/interleave/run.sh
	tools/test/interleave/device/run.sh

library:
	tools/test/library/run.sh

simulation:
	tools/test/simulation/run.sh

interleave:
	tools/test/interleave/run.sh
	tools/test/interleave/device/run.sh

engine:
	tools/test/engine/run.sh

style:
ifdef IN
	tools/test/vm/in.sh $(IN) style
else
	tools/style/run.sh $(CHECKS)
endif

features:
	tools/test/features/run.sh

matrix:
	tools/test/vm/matrix.sh $(KERNELS)

bench:
	tools/bench/run.sh

models:
	tools/test/models/run.sh $(MODELS)

proofs:
	tools/test/proofs/run.sh $(PROOFS)

torture:
	tools/test/vm/torture.sh

restore:
	tools/test/vm/restore.sh

fuzz:
	tools/test/vm/fuzz.sh

attack:
	tools/test/vm/attack.sh $(ATTACKS)

ports:
	tools/test/ports/run.sh $(PORTS)

programs:
	tools/test/programs/run.sh $(LOOPS)

mutants:
	tools/test/mutants/run.sh $(MUTANTS)

# Use, package, test: as the folders of tools/ are grouped.
help:
	@echo 'Use (module, include, tools/lib, tools/cli, tools/examples, tools/man):'
	@echo '  make                  build twheel.ko for the running kernel'
	@echo '                          KDIR=path: for the kernel with these headers'
	@echo '  make install          install the module; INSTALL_MOD_PATH=, under which a package'
	@echo '                          leaves out the files modules.*'
	@echo '  make tools            build the command twheel, libtwheel and the examples'
	@echo '  make tools_install    install command and library, manual pages and udev rule;'
	@echo '                          PREFIX=, DESTDIR=; PYTHONDIR=: the Python module, too'
	@echo '  make uninstall        remove what make install has installed, with the same variables;'
	@echo '                          make tools_uninstall and man_uninstall likewise'
	@echo '  make man              manual pages of the in-kernel API; make man_install'
	@echo '  make demo             a million timeouts on a stock kernel in QEMU'
	@echo '  make clean            remove what was built here'
	@echo '  make distclean        remove the cache of kernels, too'
	@echo
	@echo 'Package (tools/packaging, debian, dkms.conf):'
	@echo '  make dist             a tarball of the last commit: the same git and gzip give'
	@echo '                          the same bytes; CHECK=1: make it twice, and compare'
	@echo '  make packages         Debian packages; in a guest they are installed, tried, removed'
	@echo '  make rpm              RPM packages, from tools/packaging/rpm/twheel.spec'
	@echo '  make intree TREE=path put twheel into a kernel source; REMOVE=1 takes it out'
	@echo '  make intree-check     build such kernels, and run their tests (long)'
	@echo '  make series OUT=path TREE=path'
	@echo '                        the same as patches for git am, with a cover letter'
	@echo '  make series-check     make such a series, apply, check and build it'
	@echo
	@echo 'Test (kunit, tools/test, tools/bench, tools/style):'
	@echo '  make check            all tests: the quick ones, then in QEMU, with a kernel that it'
	@echo '                          builds once'
	@echo '                          TESTS="suite ...": only these suites or programs'
	@echo '                          IN=podman|docker: in a container, on any Linux; make style too'
	@echo '  make quick            what needs no virtual machine: the next four'
	@echo '  make simulation       core and API with their suites as a program: a minute'
	@echo '  make interleave       what other CPUs do in the middle of a call: two minutes'
	@echo '  make library          process wheels, without a virtual machine: two minutes'
	@echo '  make engine           the engine as a program, under sanitizers: seconds'
	@echo '                          FUZZ=seconds: libFuzzer plays with it for so long'
	@echo '  make style            what programs can say about style'
	@echo '                          CHECKS="name ...": only these'
	@echo '  make features         what the module finds in each kernel that it builds on'
	@echo '  make matrix           all tests on each of many kernels (an hour or two)'
	@echo '                          KERNELS="row ...": only these of tools/test/vm/rows,'
	@echo '                          or those of an architecture, as arm64'
	@echo '                          MINUTES=n: skip rows that do not end in time'
	@echo '  make bench            what operations cost, beside what else Linux has'
	@echo '                          MODE=native: nanoseconds of this machine itself'
	@echo '                          MODE=wheels: process wheels beside other libraries'
	@echo '                          COUNTS="1000 ...": how many timers are pending'
	@echo '                          HALF=kernel|user: only that half'
	@echo '                          FIGURES=1: renew the figures that pages show'
	@echo '  make models           every interleaving of the protocols between CPUs'
	@echo '                          MODELS="name ...": only these'
	@echo '  make proofs           formulas of the engine, proved for all positions: minutes'
	@echo '                          PROOFS="name ...": only these'
	@echo '  make torture          everything at once, with books kept'
	@echo '                          KERNEL=debug|stock|rtdebug|an architecture'
	@echo '                          SCENARIOS="name ...": only these'
	@echo '                          TIME=s OPS=n: seconds a scenario, operations'
	@echo '  make restore          save and restore a machine while timers are pending'
	@echo '  make fuzz             fuzz the device, beside a model'
	@echo '                          KERNELS="debug stock coarse": only these'
	@echo '                          SEED=, TIME=, CALLS=: dice, seconds, calls'
	@echo '                          REPLAY=program: run this one again and again'
	@echo '  make attack           disturb the machine by the device, and measure others'
	@echo '                          ATTACKS="name ...": only these'
	@echo '                          SERIES=6.12: on that of Debian'"'"'s kernels'
	@echo '  make ports            move modules of the kernel to twheel, as migration.md says,'
	@echo '                          and drive their traffic beside the stock ones'
	@echo '                          PORTS="name ...": only these'
	@echo '  make programs         libuv and libevent on a process wheel, with their own tests'
	@echo '                          LOOPS="name ...": only these'
	@echo '                          COST=n: count the instructions that n timers cost'
	@echo '  make mutants          change engine, core and API in one place at a time,'
	@echo '                          and see the tests notice it (hours)'
	@echo '                          MUTANTS="file ...": only these; EVERY=n; JOBS=n'
	@echo
	@echo 'TWHEEL_CACHE=path       where kernels and results are kept (.cache)'
	@echo 'PATIENCE=seconds        end what makes no progress for so long (600), without the time'
	@echo '                          in which a busy machine leaves it no CPU'
