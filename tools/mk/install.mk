# make install DESTDIR= PREFIX=/usr/local: the programs, the plugin for GPUs where it was built, units for systemd, manual
# pages, the contract of the REST API, licence and documents, an example.
PREFIX ?= /usr/local
DESTDIR ?=
TO = $(DESTDIR)$(PREFIX)
install: all
	install -d $(TO)/bin $(TO)/share/man/man1 $(TO)/share/man/man8 $(TO)/share/sluice/openapi $(TO)/share/sluice/examples \
	    $(TO)/share/doc/sluice $(TO)/lib/systemd/system $(TO)/lib/sysusers.d $(TO)/lib/sluice
	install -m 755 $(PROGRAMS) $(TO)/bin
	if [ -e $(OUT)/sluice-cuda.so ]; then install -m 644 $(OUT)/sluice-cuda.so $(TO)/lib/sluice; fi
	install -m 644 docs/man/*.1 $(TO)/share/man/man1
	install -m 644 docs/man/*.8 $(TO)/share/man/man8
	install -m 644 $(OPENAPI) $(TO)/share/sluice/openapi
	install -m 644 deploy/examples/two_layers.json $(TO)/share/sluice/examples
	install -m 644 LICENSE README.md CHANGELOG.md SECURITY.md $(TO)/share/doc/sluice
	install -m 644 deploy/systemd/sluice-gateway.sysusers $(TO)/lib/sysusers.d/sluice-gateway.conf
	for unit in deploy/systemd/*.service; do \
	    sed 's|/usr/bin/|$(PREFIX)/bin/|' $$unit >$(TO)/lib/systemd/system/$${unit##*/} && \
	    chmod 644 $(TO)/lib/systemd/system/$${unit##*/} || exit 1; done
check-install: all ; @OUT=$(OUT) tools/check_install

# make deb: Debian packages of what is built, in build/deb; DEB_VERSION= of another version than VERSION's first package.
DEB_VERSION ?= $(shell cat VERSION)-1
deb: ; @tools/check_writable build && tools/install_packages build deb && $(MAKE) --no-print-directory $(PARALLEL) all && \
    OUT=$(OUT) tools/make_deb build/deb $(DEB_VERSION)
.PHONY: install check-install deb
