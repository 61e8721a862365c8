# SPDX-License-Identifier: Apache-2.0
# make bench: speed, side by side with other programs in one run. QUICK=1: under a minute; STRICT=1: fails above a limit.
BENCH_BIN   := $(OUT)/bench/qsbench
BENCH_FLAGS := --out $(OUT)/bench --bin $(OUT)/bin $(if $(QUICK),--quick) $(if $(STRICT),--strict)

$(BENCH_BIN): $(call obj,$(BENCH_SRC)) $(SANDBOX_LIB) $(TERMINAL) $(INTERNAL)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic -o $@ $^ $(LIBS) $(LIBS_sandbox) -lsqlite3 -lm

# The page is drawn from the figures alone, so that a kept bench.json can be drawn again and the page be tested.
BENCH_PAGE := $(OUT)/tools/bench-page
$(BENCH_PAGE): $(call obj,tools/bench_page.c bench/bench_html.c) $(TERMINAL) $(INTERNAL)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -ljansson -lm

tests: $(BENCH_PAGE)

.PHONY: bench-built
bench-built: $(BENCH_BIN)

.PHONY: bench
bench: ## speed, side by side: a table, build/bench/bench.json and index.html (QUICK=1: short)
	@sh tools/deps.sh tools/packages-test bench/packages
	@$(MAKE) --no-print-directory all node $(BENCH_BIN)
	@$(BENCH_BIN) $(BENCH_FLAGS)

.PHONY: bench-table
bench-table: ## the last bench's rows as Markdown, for docs/performance.md
	@jq -r -f tools/bench_table.jq $(OUT)/bench/bench.json
