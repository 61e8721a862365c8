# SPDX-License-Identifier: Apache-2.0
# The binding for Node.js. `make node` leaves the package in build/node, as node-gyp would: build/Release/qsettings.node
# within it. The library is linked in, so that it needs no loader path. Against Node-API only: one build for all nodes.
NODE_SRC   := $(wildcard bindings/node/src/*.cc)
NODE_OBJ   := $(patsubst %.cc,$(OBJ)/%.o,$(NODE_SRC))
NODE_FILES := $(patsubst bindings/node/%,$(OUT)/node/%,$(wildcard $(addprefix bindings/node/,*.cjs *.mjs *.ts *.json)))
NODE_ADDON := $(OUT)/node/build/Release/qsettings.node
NODE_DEPS  := build/node-deps
NODE_HOME  = $(shell node -p 'require("path").resolve(process.execPath, "../..")')
NODE_FLAGS := -std=c++17 -Wall -Wextra -Wpedantic $(WERROR) -fvisibility=hidden -pthread $(HARDEN) $(FLAGS_$(KIND)) -g \
              -DNAPI_VERSION=8 -DNAPI_CPP_EXCEPTIONS
NODE_HEADS = $(addprefix -isystem ,$(NODE_HOME)/include/node $(addsuffix /usr/include/node,$(NODE_DEPS) /) \
             $(addsuffix /usr/share/nodejs/node-addon-api,$(NODE_DEPS) /))
SCHEMA_TS  := $(OUT)/tools/schema-ts

.PHONY: node
node: $(NODE_ADDON) $(NODE_FILES) ## the binding for Node.js, in build/node

$(NODE_DEPS)/.done: tools/node_deps.sh tools/packages-node
	$(Q)sh tools/node_deps.sh $(NODE_DEPS)
	@touch $@
$(OBJ)/bindings/node/%.o: bindings/node/%.cc $(NODE_DEPS)/.done
	@mkdir -p $(@D)
	$(say) CXX $@
	$(Q)$(CXX) $(CPPFLAGS) $(NODE_FLAGS) $(NODE_HEADS) -MMD -MP -c $< -o $@
# What the addon holds of the library is nobody else's in the process.
$(NODE_ADDON): $(NODE_OBJ) $(OUT)/lib/libqsettings.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CXX) $(ALL_LDFLAGS) -shared -Wl,--exclude-libs,ALL -o $@ $^ $(LIBS)
$(OUT)/node/%: bindings/node/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(SCHEMA_TS): $(OBJ)/tools/schema_ts.o $(INTERNAL)
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# Sanitizers are for the C: node itself is not built with them.
ifeq ($(KIND),release)
tests: $(SCHEMA_TS) node
endif

.PHONY: node-types
node-types: $(SCHEMA_TS) ## write bindings/node/schema.d.ts from the schema table
	$(SCHEMA_TS) > bindings/node/schema.d.ts
