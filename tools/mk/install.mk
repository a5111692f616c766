# make install DESTDIR= PREFIX=/usr/local: the programs, the contract of the REST API, licence and documents, an example.
PREFIX ?= /usr/local
DESTDIR ?=
SHARE = $(DESTDIR)$(PREFIX)/share/sluice
DOCUMENTS = $(DESTDIR)$(PREFIX)/share/doc/sluice
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/openapi $(SHARE)/examples $(DOCUMENTS)
	install -m 755 $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(OPENAPI) $(SHARE)/openapi
	install -m 644 deploy/examples/two_layers.json $(SHARE)/examples
	install -m 644 LICENSE README.md CHANGELOG.md SECURITY.md $(DOCUMENTS)

check-install: all ; @OUT=$(OUT) tools/check_install
.PHONY: install check-install
