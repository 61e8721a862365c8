# SPDX-License-Identifier: Apache-2.0
# install and uninstall; DESTDIR and PREFIX are honoured.
BASHDIR ?= $(DATADIR)/bash-completion/completions
ZSHDIR  ?= $(DATADIR)/zsh/site-functions
FISHDIR ?= $(DATADIR)/fish/vendor_completions.d

# qsandbox looks for its shim in ../libexec/qsettings from its own directory.
LIBEXECDIR := $(BINDIR)/../libexec/qsettings

# Where the loader looks through a cache, a new library is not found before the cache knows it.
LDCONFIG := PATH="$$PATH:/usr/sbin:/sbin" ldconfig
define loader_cache
	@[ -n '$(DESTDIR)' ] || ! $(LDCONFIG) -N -v 2>/dev/null | grep -q '^$(LIBDIR):' || $(LDCONFIG) || \
	  echo "programs find the library after: ldconfig, as root" >&2
endef

.PHONY: install
install: all ## install below DESTDIR/PREFIX
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/qsettings
	install -m 0755 $(BINS) $(DESTDIR)$(BINDIR)/
	$(if $(SHIM),install -D -m 0755 $(SHIM) $(DESTDIR)$(LIBEXECDIR)/qsandbox-shim)
	install -m 0644 $(HEADERS) $(DESTDIR)$(INCLUDEDIR)/qsettings/
	install -m 0755 $(SHARED) $(DESTDIR)$(LIBDIR)/
	install -m 0644 $(OUT)/lib/libqsettings.a $(DESTDIR)$(LIBDIR)/
	ln -sf libqsettings.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libqsettings.so.$(SOVERSION)
	ln -sf libqsettings.so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/libqsettings.so
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' \
	  qsettings.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/qsettings.pc
	for page in $(MAN_PAGES); do \
	  install -d $(DESTDIR)$(MANDIR)/man$${page##*.} && \
	  install -m 0644 $$page $(DESTDIR)$(MANDIR)/man$${page##*.}/ || exit 1; done
	install -d $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR)
	for program in $(PROGRAMS); do \
	  $(OUT)/bin/$$program completion bash > $(DESTDIR)$(BASHDIR)/$$program && \
	  $(OUT)/bin/$$program completion zsh > $(DESTDIR)$(ZSHDIR)/_$$program && \
	  $(OUT)/bin/$$program completion fish > $(DESTDIR)$(FISHDIR)/$$program.fish || exit 1; done
	$(loader_cache)

.PHONY: uninstall
uninstall: ## remove what install put there; stores stay
	rm -f $(addprefix $(DESTDIR)$(BINDIR)/,$(PROGRAMS)) $(DESTDIR)$(LIBEXECDIR)/qsandbox-shim
	-rmdir $(DESTDIR)$(LIBEXECDIR) 2>/dev/null
	rm -f $(DESTDIR)$(LIBDIR)/libqsettings.so* $(DESTDIR)$(LIBDIR)/libqsettings.a \
	  $(DESTDIR)$(LIBDIR)/pkgconfig/qsettings.pc
	rm -f $(addprefix $(DESTDIR)$(INCLUDEDIR)/,$(patsubst include/%,%,$(HEADERS)))
	-rmdir $(DESTDIR)$(INCLUDEDIR)/qsettings 2>/dev/null
	for page in $(notdir $(MAN_PAGES)); do rm -f $(DESTDIR)$(MANDIR)/man$${page##*.}/$$page; done
	for program in $(PROGRAMS); do \
	  rm -f $(DESTDIR)$(BASHDIR)/$$program $(DESTDIR)$(ZSHDIR)/_$$program $(DESTDIR)$(FISHDIR)/$$program.fish; done
	$(loader_cache)
