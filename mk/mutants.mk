# SPDX-License-Identifier: Apache-2.0
# Mutants: each patch in tests/mutants takes one promised check away, and a suite must notice. M=NAME: one of them;
# TENTH=N: every tenth.
.PHONY: mutants
mutants: ## break each promised check and see that a test fails (M=name: one; TENTH=n: every tenth)
	@sh tools/deps.sh tools/packages-test
	@$(MAKE) --no-print-directory -s -j$(JOBS) tests
	@bash tools/mutants.sh $(if $(TENTH),--tenth $(TENTH)) $(M)
