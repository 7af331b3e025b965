# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
#
# make run      install what is missing, build, start the service        make test     run the whole suite
# make test ONLY=PathModelTests,NetlinkTests/QuestionTests  builds and runs those targets or suites, and nothing else
# make lint     format and house rules                                    make sanitize suite under address and thread sanitizer
# make soak     ten minutes of random faults against `ip route get`       make bench    benchmarks beside ip monitor
# make oracle   what is published against packets that are really sent, in every situation; ARGS="--seconds 60" some of them
# make fuzz     fuzz every parser of hostile bytes                      make install  into PREFIX (default /usr/local); uninstall
# make deb      a Debian package                                        make test-package  boots a Debian 12 with it
# make conformance  Autobahn's cases for the WebSocket codec and the library Network, servers and clients
# make lab FAULT=dns.servfail  a network with that fault to look at, in namespaces; without FAULT the list of faults
# make screenshots  pictures of the status page in every state, into .build/screenshots; four of them into docs/

SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
ONLY ?=

# Debian gives an ordinary user no /usr/sbin, where sysctl, dnsmasq, ethtool and others are.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin

.PHONY: run build dependencies test test-dependencies lint sanitize soak oracle bench fuzz conformance lab screenshots \
    install uninstall deb test-package clean

run: build
	@echo "nwpath: the command, in another terminal: $(CURDIR)/.build/release/nwpath (or: sudo make install)"
	@exec .build/release/nwpath serve $(ARGS)

build: dependencies
	@SWIFT="$(SWIFT)" packaging/build-release

dependencies:
	@packaging/install-dependencies build

test-dependencies:
	@packaging/install-dependencies test
	@packaging/unpack-resolved
	@test -x .build/venv/bin/python3 || python3 -m venv .build/venv
	@.build/venv/bin/python3 -c 'import zeroconf, jsonschema, prometheus_client, dbus_next, selenium, axe_core_python, \
	        openapi_spec_validator, schemathesis, websockets' 2>/dev/null \
	    || .build/venv/bin/pip install -q --disable-pip-version-check -r Tests/requirements.txt

test: test-dependencies
	@Tests/run $(if $(ONLY),'--only=$(ONLY)') $(ARGS)

lint:
	@$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests

sanitize: test-dependencies
	@Tests/run --sanitize=address
	@Tests/run --sanitize=thread

soak: build test-dependencies
	@python3 -B Tests/Soak/judge_test -q
	@Tests/Soak/soak --binary .build/release/nwpath --seconds $(or $(SECONDS),600) $(ARGS)

oracle: build test-dependencies
	@python3 -B Tests/Oracle/judge_test -q
	@Tests/Oracle/oracle --binary .build/release/nwpath $(ARGS)

bench: build test-dependencies
	@Benchmarks/run --binary .build/release/nwpath $(ARGS)

fuzz: dependencies
	@Fuzz/run $(ARGS)

conformance: dependencies
	@Tests/Conformance/run $(ARGS)

lab:
ifdef FAULT
	@test -x .build/release/nwpath || $(MAKE) build
	@Tests/Lab/lab show $(FAULT)
else
	@Tests/Lab/lab list
endif

screenshots: test-dependencies
	@rm -rf .build/screenshots
	@NWPATH_TEST_SCREENSHOTS="$(CURDIR)/.build/screenshots" Tests/run --filter 'PageTests|StateTableTests'
	@cp .build/screenshots/state-1-online-1280-light.png docs/page-light.png
	@cp .build/screenshots/state-7-no-internet-1280-dark.png docs/page-dark.png
	@cp .build/screenshots/state-10-offline-390-dark.png docs/page-phone.png
	@cp .build/screenshots/crowd-drawer-1280-light.png docs/page-nearby.png
	@ls .build/screenshots

install: build
	@packaging/install-files install "$(DESTDIR)" "$(PREFIX)"
	@echo "installed $(DESTDIR)$(PREFIX)/bin/nwpath; docs/install.md says how to start the service"

uninstall:
	@packaging/install-files uninstall "$(DESTDIR)" "$(PREFIX)"

deb: build
	@packaging/install-dependencies package
	@packaging/build-package

test-package: deb
	@packaging/test-package .build/deb/nwpath_*.deb

clean:
	@rm -rf .build Benchmarks/.build Fuzz/.build
