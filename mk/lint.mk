# SPDX-License-Identifier: Apache-2.0
# Layout, static analysis, scripts. Tests, fuzz targets and benchmarks are held to the layout only.

LINT_C      := $(LIB_SRC) $(TERMINAL_SRC) $(CLI_SRC) $(SANDBOX_SRC) $(FLEET_SRC) $(STRESS_SRC) $(APPROVAL_SRC)
LAYOUT_C     = $(shell git ls-files '*.c' '*.h' '*.cc')
LINT_SH      = $(shell git ls-files '*.sh' '*.postinst' '*.prerm') .ci/run
LINT_BATS    = $(shell git ls-files '*.bats' '*.bash')
TIDY_STAMPS := $(patsubst %.c,build/obj/tidy/%.ok,$(LINT_C))

.PHONY: lint
lint: lint-format lint-sh lint-size lint-tidy ## clang-format, clang-tidy, shellcheck, sizes

.PHONY: lint-format
lint-format:
	clang-format --dry-run --Werror $(LAYOUT_C)

# Of the suites only what is an error: a "!" that fails no test above all. SC1087 takes "$$name[" for an array.
.PHONY: lint-sh
lint-sh:
	shellcheck -S warning $(LINT_SH)
	shellcheck -S error -e SC1087 $(LINT_BATS)

# A file of more than 600 lines, one without its licence line, and a function of more than 60 lines are refused (those of
# tests, fuzz targets, tools and the binding too, which clang-tidy does not see).
LICENSED     = ':!fuzz/corpus' ':!tests/fixtures' ':!tests/mutants' ':!packaging/debian' ':!*.md' ':!*.json' ':!LICENSE'
.PHONY: lint-size
lint-size:
	@git ls-files '*.c' '*.h' '*.cc' '*.cjs' '*.mjs' '*.ts' ':!*/schema.d.ts' '*.sh' '*.bats' '*.bash' '*.mk' | while read -r f; do \
	  lines=$$(wc -l < "$$f"); \
	  [ "$$lines" -le 600 ] || { echo "$$f: $$lines lines"; exit 1; }; done
	@git ls-files $(LICENSED) | while read -r f; do \
	  head -4 "$$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || { echo "$$f: no licence line"; exit 1; }; done
	@awk 'FNR == 1 { begun = 0 } \
	  /^\{/ { begun = FNR; name = last } \
	  /^\}/ { if (begun && FNR - begun > 61) { print FILENAME ": " FNR - begun - 1 " lines: " name; bad = 1 } begun = 0 } \
	  /^[^ \t]/ { last = $$0 } \
	  END { exit bad }' $(LAYOUT_C)

.PHONY: lint-tidy
lint-tidy: $(TIDY_STAMPS)

build/obj/tidy/%.ok: %.c .clang-tidy
	@mkdir -p $(@D)
	clang-tidy --quiet $< -- -std=c17 $(CPPFLAGS) 2>/dev/null
	@touch $@
