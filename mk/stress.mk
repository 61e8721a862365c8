# SPDX-License-Identifier: Apache-2.0
# The long run of qstress: each backend under each harness, one table. STRESS_* in tools/stress.sh say how long.

.PHONY: stress
stress: all ## each backend under each harness, in one table (an hour; needs root)
	@sh tools/deps.sh tools/packages-test
	@bash tools/stress.sh $(OUT) $(HARNESS)
