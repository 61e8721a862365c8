# SPDX-License-Identifier: Apache-2.0
# The negative controls leave one barrier out and show that its check then fails. Nothing that is installed can do that
# (sandbox/wire/barriers.h), so these tests have objects of their own.
CONTROLS     := $(addprefix $(OUT)/tests/,$(notdir $(basename $(CONTROLS_SRC))))
CONTROLS_LIB := $(OBJ)/controls/libsandbox.a
CONTROLLED   := $(filter-out $(SANDBOX_MAIN) sandbox/cmd/%,$(SANDBOX_SRC))

$(OBJ)/controls/%.o: %.c | $(NO_COMPILER)
	@mkdir -p $(@D)
	$(say) CC $@
	$(Q)$(CC) $(CPPFLAGS) -DQS_SANDBOX_CONTROLS $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(CONTROLS_LIB): $(CONTROLLED:%.c=$(OBJ)/controls/%.o) $(OBJ)/filter_tables.o
	$(archive)

$(CONTROLS): $(OUT)/tests/%: $(OBJ)/controls/tests/controls/%.o $(CONTROLS_LIB) $(SUPPORT_LIB) $(INTERNAL)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -rdynamic -o $@ $^ $(LIBS) $(LIBS_sandbox) -lcmocka -ldl

tests: $(CONTROLS)
