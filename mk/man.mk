# SPDX-License-Identifier: Apache-2.0
# The manual page of the settings is made from the schema table.
SCHEMA_MAN := $(OUT)/tools/schema-man

$(SCHEMA_MAN): $(OBJ)/tools/schema_man.o $(INTERNAL)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

tests: $(SCHEMA_MAN)

.PHONY: man
man: $(SCHEMA_MAN) ## write docs/man/qsettings-policy.5 from the schema table
	$(SCHEMA_MAN) > docs/man/qsettings-policy.5
