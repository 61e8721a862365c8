# SPDX-License-Identifier: Apache-2.0
# Layout, static analysis, scripts. Tests, fuzz targets and benchmarks are held to the layout only.

LINT_C      := $(LIB_SRC) $(TERMINAL_SRC) $(CLI_SRC) $(SANDBOX_SRC) $(STRESS_SRC)
LAYOUT_C     = $(shell git ls-files '*.c' '*.h' '*.cc')
LINT_SH      = $(shell git ls-files '*.sh' '*.postinst' '*.prerm') .ci/run
TIDY_STAMPS := $(patsubst %.c,build/obj/tidy/%.ok,$(LINT_C))

.PHONY: lint
lint: lint-format lint-sh lint-size lint-tidy ## clang-format, clang-tidy, shellcheck, sizes

.PHONY: lint-format
lint-format:
	clang-format --dry-run --Werror $(LAYOUT_C)

.PHONY: lint-sh
lint-sh:
	shellcheck -S warning $(LINT_SH)

# A file of more than 600 lines, or one without its licence line, is refused.
.PHONY: lint-size
lint-size:
	@git ls-files '*.c' '*.h' '*.cc' '*.cjs' '*.mjs' '*.ts' ':!*/schema.d.ts' '*.sh' '*.bats' '*.mk' | while read -r f; do \
	  lines=$$(wc -l < "$$f"); \
	  [ "$$lines" -le 600 ] || { echo "$$f: $$lines lines"; exit 1; }; \
	  head -3 "$$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || { echo "$$f: no licence line"; exit 1; }; done

.PHONY: lint-tidy
lint-tidy: $(TIDY_STAMPS)

build/obj/tidy/%.ok: %.c .clang-tidy
	@mkdir -p $(@D)
	clang-tidy --quiet $< -- -std=c17 $(CPPFLAGS) 2>/dev/null
	@touch $@
