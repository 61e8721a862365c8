# SPDX-License-Identifier: Apache-2.0
# Fuzzing. fuzz/fuzz_NAME.c is a target, fuzz/corpus/NAME its inputs, fuzz/NAME.dict (if there is one) its words, and
# fuzz/targets says which files it is to cover.
#
#   build/fuzz/NAME          the target under libFuzzer (KIND=fuzz: clang, ASan, UBSan, coverage)
#   build/tests/replay/NAME  the target over its corpus under the compiler of this build, as an ordinary test

FUZZ_NAMES   := $(patsubst fuzz/fuzz_%.c,%,$(FUZZ_SRC))
FUZZ_HELP    := $(filter-out $(FUZZ_SRC) fuzz/replay.c,$(wildcard fuzz/*.c))
FUZZ_LIB     := $(OBJ)/libfuzzhelp.a
FUZZ_BINS    := $(addprefix $(OUT)/bin/fuzz_,$(FUZZ_NAMES))
REPLAYS      := $(addprefix $(OUT)/tests/replay/,$(FUZZ_NAMES))
FUZZ_LINKED  := $(FUZZ_LIB) $(SUPPORT_LIB) $(STRESS_LIB) $(SANDBOX_LIB) $(FLEET_LIB) $(APPROVAL) $(TERMINAL) $(INTERNAL)
FUZZ_LIBS    := $(LIBS) $(LIBS_sandbox) $(LIBS_stress) $(LIBS_fleet) -lcmocka
SECONDS      ?= 60

$(FUZZ_LIB): $(call obj,$(FUZZ_HELP))
	$(archive)

# Both programs see what the tests see.
$(OUT)/tests/replay/%: $(OBJ)/fuzz/fuzz_%.o $(OBJ)/fuzz/replay.o $(FUZZ_LINKED)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(FUZZ_LIBS)
$(OUT)/bin/fuzz_%: $(OBJ)/fuzz/fuzz_%.o $(FUZZ_LINKED)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(FUZZ_LIBS)

tests: $(REPLAYS)

.PHONY: fuzz-built
fuzz-built: $(FUZZ_BINS)

.PHONY: fuzz
fuzz: ## run every fuzz target for SECONDS (60) each
	@sh tools/deps.sh tools/packages-test
	@$(MAKE) --no-print-directory KIND=fuzz fuzz-built
	@bash tools/fuzz.sh build/fuzz $(SECONDS) $(TARGET)

.PHONY: cover
cover: ## how much of its own files each fuzz target's corpus reaches; at least 90 % of the lines
	@sh tools/deps.sh tools/packages-test
	@$(MAKE) --no-print-directory KIND=fuzz fuzz-built
	@bash tools/cover.sh build/fuzz

.PHONY: fuzz-merge
fuzz-merge: ## put what fuzzing found, as far as it reaches new edges, into the committed corpora
	@$(MAKE) --no-print-directory KIND=fuzz fuzz-built
	@bash tools/fuzz_merge.sh build/fuzz $(TARGET)
