# SPDX-License-Identifier: Apache-2.0
# The source tarball and the Debian packages. packaging/packages: what building and checking them needs.
DIST := build/dist/qsettings-$(VERSION).tar.gz

.PHONY: dist
dist: ## the source as a tarball, build/dist/; the same source gives the same bytes
	@mkdir -p $(dir $(DIST))
	@bash tools/dist.sh $(DIST)
	@echo $(DIST)

.PHONY: deb
deb: ## Debian packages, build/deb/
	@sh tools/deps.sh packaging/packages
	@$(MAKE) --no-print-directory -s dist
	@bash tools/deb.sh $(DIST) build/deb

.PHONY: deb-check
deb-check: ## lintian, a second build, and installing, using and purging the packages (needs root)
	@sh tools/deps.sh tools/packages-test packaging/packages
	@$(MAKE) --no-print-directory deb
	@QS_TOP=$(CURDIR) QS_BUILD=$(CURDIR)/build bats packaging/check.bats
