# SPDX-License-Identifier: Apache-2.0
# The system call filters are made once, by a program that is built first and uses libseccomp.
FILTER_TOOL := $(OUT)/tools/filter-tables
FILTER_C    := $(OBJ)/filter_tables.c

$(FILTER_TOOL): $(OBJ)/tools/filter_tables.o $(OBJ)/sandbox/plan/filter.o $(INTERNAL)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) $(LIBS_sandbox)

$(FILTER_C): $(FILTER_TOOL)
	$(say) GEN $@
	$(Q)$(FILTER_TOOL) > $@.new && mv $@.new $@

$(OBJ)/filter_tables.o: $(FILTER_C)
	$(say) CC $@
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(SANDBOX_LIB): $(OBJ)/filter_tables.o
