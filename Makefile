# SPDX-License-Identifier: Apache-2.0
# qsettings: `make help` lists the targets. Everything is built below build/; one object folder per build kind.

VERSION   := 0.1.0
SOVERSION := 0
PREFIX    ?= /usr/local
BINDIR    ?= $(PREFIX)/bin
LIBDIR    ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR    ?= $(PREFIX)/share/man
DATADIR   ?= $(PREFIX)/share

# ---- build kinds: make KIND=release|clang|asan|tsan|cover|fuzz ----
KIND ?= release
JOBS := $(shell nproc 2>/dev/null || echo 1)
ifeq ($(KIND),release)
OUT := build
else
OUT := build/$(KIND)
endif
OBJ := build/obj/$(KIND)

CC_release := gcc
CC_clang   := clang
CC_asan    := gcc
CC_tsan    := gcc
CC_cover   := gcc
CC_fuzz    := clang
ifeq ($(origin CC),default)
CC := $(CC_$(KIND))
endif

FLAGS_release := -O2 -D_FORTIFY_SOURCE=2
FLAGS_clang   := -O2 -D_FORTIFY_SOURCE=2
FLAGS_asan    := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FLAGS_tsan    := -O1 -fsanitize=thread -fno-omit-frame-pointer
FLAGS_cover   := -O0 --coverage -fprofile-abs-path -fprofile-update=atomic
FLAGS_fuzz    := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
                 -fprofile-instr-generate -fcoverage-mapping

WARN   := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wpointer-arith \
          -Wwrite-strings -Wformat=2 -Wundef -Wno-gnu-statement-expression
WERROR ?= -Werror
HARDEN := -fstack-protector-strong -fstack-clash-protection -fPIC \
          $(if $(filter x86_64-% i%86-%,$(shell $(CC) -dumpmachine 2>/dev/null)),-fcf-protection)
CFLAGS   ?= -g
CPPFLAGS += -I. -Iinclude -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64
ALL_CFLAGS := -std=c17 $(WARN) $(WERROR) -fvisibility=hidden -pthread $(HARDEN) $(FLAGS_$(KIND)) $(CFLAGS)
ALL_LDFLAGS := -pthread -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--as-needed $(FLAGS_$(KIND)) $(LDFLAGS)

comma := ,
LIBS := -llmdb -lyaml -ljansson -lsodium
LIBS_sandbox := -lseccomp
# qsandbox is executed twice in each run, and every shared library costs time: these are linked in where the archives are.
archived   = $(findstring /,$(shell $(CC) -print-file-name=lib$(1:-l%=%).a 2>/dev/null))
LIBS_quick := $(foreach lib,$(LIBS),$(if $(call archived,$(lib)),-Wl$(comma)-Bstatic $(lib) -Wl$(comma)-Bdynamic,$(lib)))
LIBS_stress  := -lfuse3 -lm
LIBS_fleet   := -lcurl

# ---- what there is: a folder's sources are found, a new file needs no line here ----
LIB_ROOMS   := base text schema store reader writer publish
LIB_SRC     := $(wildcard $(addsuffix /*.c,$(LIB_ROOMS)))
TERMINAL_SRC := $(wildcard terminal/*.c)
CLI_SRC     := $(wildcard cli/*.c cli/*/*.c)
SANDBOX_SRC := $(wildcard sandbox/*/*.c)
FLEET_SRC   := $(wildcard fleet/*/*.c)
SANDBOX_MAIN := sandbox/cmd/qsandbox_main.c sandbox/shim/shim_main.c
STRESS_SRC  := $(wildcard stress/*/*.c)
SUPPORT_SRC := $(wildcard tests/support/*.c tests/support/*/*.c)
CONTROLS_SRC := $(wildcard tests/controls/test_*.c)
TEST_SRC    := $(filter-out $(CONTROLS_SRC),$(wildcard tests/*/test_*.c))
PRELOAD_SRC := $(wildcard tests/preload/*.c)
FUZZ_SRC    := $(wildcard fuzz/fuzz_*.c)
BENCH_SRC   := $(wildcard bench/*.c)
HEADERS     := $(wildcard include/qsettings/*.h)
MAN_PAGES   := $(wildcard docs/man/*.[1-8])

obj = $(patsubst %.c,$(OBJ)/%.o,$(1))
APPROVAL_SRC := $(wildcard approval/*.c)
LIB_OBJ     := $(call obj,$(LIB_SRC))
INTERNAL    := $(OBJ)/libqsettings-internal.a
BASE_LIB    := $(OBJ)/libbase.a
TERMINAL    := $(OBJ)/libterminal.a
APPROVAL    := $(OBJ)/libapproval.a
CLI_LIB     := $(OBJ)/libcli.a
SANDBOX_LIB := $(OBJ)/libsandbox.a
FLEET_LIB   := $(OBJ)/libfleet.a
STRESS_LIB  := $(OBJ)/libstress.a
SUPPORT_LIB := $(OBJ)/libsupport.a

PROGRAMS := $(if $(wildcard cli/qsettings_main.c),qsettings) $(if $(wildcard sandbox/cmd/qsandbox_main.c),qsandbox) \
            $(if $(wildcard stress/cmd/qstress_main.c),qstress) \
            $(if $(wildcard fleet/cmd/qfleet_main.c),qfleet)
BINS     := $(addprefix $(OUT)/bin/,$(PROGRAMS))
# The shim starts in every run: static, where there is a static C library. Without it qsandbox is its own shim.
SHIM     := $(if $(and $(filter release clang,$(KIND)),$(call archived,-lc)),$(OUT)/bin/qsandbox-shim)
SHARED   := $(OUT)/lib/libqsettings.so.$(VERSION)
LIBFILES := $(SHARED) $(OUT)/lib/libqsettings.so.$(SOVERSION) $(OUT)/lib/libqsettings.so $(OUT)/lib/libqsettings.a \
            $(OUT)/lib/pkgconfig/qsettings.pc
TESTS    := $(addprefix $(OUT)/tests/,$(notdir $(basename $(TEST_SRC))))
PRELOADS := $(patsubst tests/preload/%.c,$(OUT)/tests/%.so,$(PRELOAD_SRC))

.PHONY: all
all: $(BINS) $(SHIM) $(LIBFILES) ## build programs and library (the default)

# ---- rules ---- (make V=1 shows whole commands)
ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-5s %s\n'
endif

.SECONDARY: # keep the objects that only a chain of rules names

# make, or make install, as the first thing on a machine
NO_COMPILER := $(if $(shell command -v $(firstword $(CC))),,no-compiler)
.PHONY: no-compiler
no-compiler:
	@echo "qsettings: there is no $(firstword $(CC)); run: make deps" >&2; exit 1

$(OBJ)/%.o: %.c | $(NO_COMPILER)
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

define archive
	@mkdir -p $(@D)
	@rm -f $@
	$(say) AR $@
	$(Q)ar rcs $@ $^
endef
$(INTERNAL): $(LIB_OBJ)
	$(archive)
$(BASE_LIB): $(call obj,$(wildcard base/*.c))
	$(archive)
$(TERMINAL): $(call obj,$(TERMINAL_SRC))
	$(archive)
$(APPROVAL): $(call obj,$(APPROVAL_SRC))
	$(archive)
$(CLI_LIB): $(call obj,$(filter-out cli/qsettings_main.c,$(CLI_SRC)))
	$(archive)
$(SANDBOX_LIB): $(call obj,$(filter-out $(SANDBOX_MAIN),$(SANDBOX_SRC)))
	$(archive)
$(FLEET_LIB): $(call obj,$(filter-out fleet/cmd/qfleet_main.c,$(FLEET_SRC)))
	$(archive)
$(STRESS_LIB): $(call obj,$(filter-out stress/cmd/qstress_main.c,$(STRESS_SRC)))
	$(archive)
$(SUPPORT_LIB): $(call obj,$(SUPPORT_SRC))
	$(archive)

$(OUT)/bin/qsettings: $(OBJ)/cli/qsettings_main.o $(CLI_LIB) $(APPROVAL) $(TERMINAL) $(INTERNAL)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -pie -o $@ $^ $(LIBS)
$(OUT)/bin/qsandbox: $(OBJ)/sandbox/cmd/qsandbox_main.o $(SANDBOX_LIB) $(APPROVAL) $(TERMINAL) $(INTERNAL)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -pie -o $@ $^ $(LIBS_quick)
# What runs inside is these objects and base/, and nothing else.
$(OUT)/bin/qsandbox-shim: $(call obj,$(wildcard sandbox/shim/*.c sandbox/wire/*.c)) $(BASE_LIB)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -static-pie -Wl,--gc-sections -o $@ $^
$(OUT)/bin/qfleet: $(OBJ)/fleet/cmd/qfleet_main.o $(FLEET_LIB) $(TERMINAL) $(INTERNAL)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -pie -o $@ $^ $(LIBS) $(LIBS_fleet)
$(OUT)/bin/qstress: $(OBJ)/stress/cmd/qstress_main.o $(STRESS_LIB) $(FLEET_LIB) $(TERMINAL) $(INTERNAL)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -pie -o $@ $^ $(LIBS) $(LIBS_stress) $(LIBS_fleet)

$(SHARED): $(LIB_OBJ) libqsettings.map
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,libqsettings.so.$(SOVERSION) -Wl,--version-script=libqsettings.map \
	  -o $@ $(LIB_OBJ) $(LIBS)
$(OUT)/lib/libqsettings.so.$(SOVERSION): $(SHARED)
	$(Q)ln -sf $(notdir $<) $@
$(OUT)/lib/libqsettings.so: $(OUT)/lib/libqsettings.so.$(SOVERSION)
	$(Q)ln -sf $(notdir $<) $@
# In the archive too, only the public names are global.
$(OUT)/lib/libqsettings.a: $(LIB_OBJ)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)ld -r -o $(OBJ)/libqsettings.o $^
	$(Q)objcopy --localize-hidden $(OBJ)/libqsettings.o
	@rm -f $@
	$(say) AR $@
	$(Q)ar rcs $@ $(OBJ)/libqsettings.o
$(OUT)/lib/pkgconfig/qsettings.pc: qsettings.pc.in Makefile
	@mkdir -p $(@D)
	$(say) GEN $@
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' $< > $@

# Tests see the inside: they link the objects, not the shared library (which library.bats and the examples use).
.SECONDEXPANSION:
TEST_OBJECT = $(OBJ)/$(basename $(filter %/$(1).c,$(TEST_SRC))).o
$(TESTS): $(OUT)/tests/%: $$(call TEST_OBJECT,$$*) $(SUPPORT_LIB) $(CLI_LIB) $(SANDBOX_LIB) $(STRESS_LIB) $(FLEET_LIB) $(APPROVAL) $(TERMINAL) $(INTERNAL)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic -o $@ $^ $(LIBS) $(LIBS_sandbox) $(LIBS_stress) $(LIBS_fleet) -lcmocka -ldl
$(OUT)/tests/%.so: tests/preload/%.c
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -fsanitize=%,$(ALL_CFLAGS)) -shared -fPIC -o $@ $< -ldl

.PHONY: tests
tests: all $(TESTS) $(PRELOADS) ## build the tests without running them

# ---- more rooms, each with its own page ----
include $(wildcard mk/*.mk)

.PHONY: deps
deps: ## install what building and testing want through apt, or print the command
	@sh tools/deps.sh tools/packages-test

# T chooses suites by a pattern, as tests/run.sh does. Where it chooses test programs only, nothing else is built.
CHOSEN_SUITES = $(shell ls tests/*/*.bats | sed 's/^tests//' | grep -E -- '$(T)')
CHOSEN_TESTS  = $(addprefix $(OUT)/tests,$(shell printf '/%s\n' $(notdir $(TESTS) $(CONTROLS)) | grep -E -- '$(T)'))
.PHONY: check
check: ## all tests (installs what is missing); T=PATTERN: those that match, like T=test_plan or T=cli/
	@sh tools/deps.sh tools/packages-test
	@$(MAKE) --no-print-directory -j$(JOBS) $(if $(T),$(if $(CHOSEN_SUITES),tests,$(CHOSEN_TESTS)),tests)
	@bash tests/run.sh $(OUT) '$(T)'

.PHONY: demo
demo: ## build, and show the main job on a scratch store
	@sh tools/deps.sh
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@bash tools/demo.sh $(OUT)

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | sort | \
	  while IFS="$$(printf '\t')" read -r t d; do printf '  make %-12s %s\n' "$$t" "$$d"; done

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
