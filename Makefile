# Part of nwpath, a network path monitor for Linux. SPDX-License-Identifier: Apache-2.0
# `make` alone lists the targets: what stands behind ## of each.

SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=
ARGS ?=
ONLY ?=

# Debian gives an ordinary user no /usr/sbin, where sysctl, dnsmasq, ethtool and others are.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin

.PHONY: help run build dependencies test test-dependencies lint sanitize soak oracle test-kernel bench fuzz \
    conformance lab lab-random lab-outages screenshots install uninstall deb image release repository test-package test-release test-repository \
    test-image test-deploy test-swift-package clean

help: ## this list
	@sed -nE 's/^([a-z-]+):[^#]* ## (.*)/make \1\t\2/p' Makefile | expand -t 24

run: build ## install what is missing, build, start the service; ARGS="--listen …" are its options
	@echo "nwpath: the command, in another terminal: $(CURDIR)/.build/release/nwpath (or: sudo make install)"
	@exec .build/release/nwpath serve $(ARGS)

build: dependencies ## install what is missing and build .build/release/nwpath
	@SWIFT="$(SWIFT)" packaging/build-release >/dev/null

dependencies: ## install the Debian packages that a build needs
	@SWIFT="$(SWIFT)" packaging/install-dependencies build

test-dependencies: ## install what the tests need
	@packaging/install-dependencies test
	@packaging/unpack-resolved
	@test -x .build/venv/bin/python3 || python3 -m venv .build/venv
	@.build/venv/bin/python3 -c 'import zeroconf, jsonschema, prometheus_client, dbus_next, selenium, axe_core_python, \
	        openapi_spec_validator, schemathesis, websockets' 2>/dev/null \
	    || .build/venv/bin/pip install -q --disable-pip-version-check -r Tests/requirements.txt

test: test-dependencies ## run the whole suite; ONLY=PathModelTests,NetlinkTests/QuestionTests those alone
	@Tests/run $(if $(ONLY),'--only=$(ONLY)') $(ARGS)

lint: ## check the format
	@$(SWIFT) format lint --strict --recursive --parallel Package.swift Sources Tests

sanitize: test-dependencies ## run the suite under the address and the thread sanitizer
	@Tests/run --sanitize=address
	@Tests/run --sanitize=thread

soak: build test-dependencies ## ten minutes of random faults against `ip route get`; SECONDS=60 fewer
	@python3 -B Tests/Soak/judge_test -q
	@Tests/Soak/soak --binary .build/release/nwpath --seconds $(or $(SECONDS),600) $(ARGS)

oracle: build test-dependencies ## hold what is published against packets that are really sent; ARGS="--seconds 60" a part
	@python3 -B Tests/Oracle/judge_test -q
	@Tests/Oracle/oracle --binary .build/release/nwpath $(ARGS)

test-kernel: build ## boot a Debian kernel with all its modules: bonds, VRFs, WireGuard, Wi-Fi; KERNEL=6.1|6.12|newest
	@packaging/install-dependencies kernel
	@python3 -B Tests/KernelLab/lab_test -q
	@Tests/KernelLab/run --binary .build/release/nwpath $(if $(KERNEL),--kernel $(KERNEL)) $(ARGS)

bench: build test-dependencies ## run the benchmarks beside ip monitor; without ARGS, as root, those of traffic too
	@Benchmarks/run --binary .build/release/nwpath $(ARGS)
	@test -n "$(ARGS)" -o "$$(id -u)" != 0 || Benchmarks/traffic/run --binary .build/release/nwpath

fuzz: dependencies ## fuzz every parser of hostile bytes
	@Fuzz/run $(ARGS)

conformance: dependencies ## run Autobahn's cases against the WebSocket codec and the library Network
	@Tests/Conformance/run $(ARGS)

lab-random: ## compose networks and faults by a seed, measured by clients of their own; COUNT=60 SEED=1
	@test -x .build/release/nwpath || $(MAKE) build
	@Tests/RandomLab/random-lab run --binary .build/release/nwpath --seed $(or $(SEED),1) --count $(or $(COUNT),60)

lab-outages: ## cut networks under the service: what it reports, and how soon; ARGS="noise --minutes 60"
	@test -x .build/release/nwpath || $(MAKE) build
	@Tests/Lab/outages $(or $(ARGS),cuts)

lab: ## list the faults there are; FAULT=dns.servfail makes a network with that one, in namespaces
ifdef FAULT
	@test -x .build/release/nwpath || $(MAKE) build
	@Tests/Lab/lab show $(FAULT)
else
	@Tests/Lab/lab list
endif

screenshots: test-dependencies ## picture every state of the status page in .build/screenshots, and an office's in docs/
	@rm -rf .build/screenshots
	@NWPATH_TEST_SCREENSHOTS="$(CURDIR)/.build/screenshots" Tests/run --filter 'PageTests|PictureTests|StateTableTests'
	@cp .build/screenshots/docs-1-online-1280-light.png docs/page-light.png
	@cp .build/screenshots/docs-2-no-internet-1280-dark.png docs/page-dark.png
	@cp .build/screenshots/docs-3-offline-390-dark.png docs/page-phone.png
	@cp .build/screenshots/docs-nearby-1280-light.png docs/page-nearby.png
	@ls .build/screenshots

# What was built is installed: root often has no Swift, and sudo no PATH to it.
install: .build/release/nwpath ## install what was built below PREFIX (default /usr/local); DESTDIR as usual
	@test -z "$$(find Package.swift Sources -type f -newer $< -print -quit)" \
	    || echo "nwpath: the sources are newer than $<; make build builds them" >&2
	@packaging/install-files install "$(DESTDIR)" "$(PREFIX)"
	@echo "installed $(DESTDIR)$(PREFIX)/bin/nwpath; docs/install.md says how to start the service"

.build/release/nwpath:
	@command -v $(SWIFT) >/dev/null || { \
	    echo "nwpath: nothing is built, and there is no '$(SWIFT)' in PATH: run make build as a user who has it" >&2; \
	    exit 1; \
	}
	@$(MAKE) build

uninstall: ## remove what install installed
	@packaging/install-files uninstall "$(DESTDIR)" "$(PREFIX)"

deb: build ## build a Debian package
	@packaging/install-dependencies package
	@packaging/build-package

test-package: deb ## boot Debian 12 and 13 with the package, upgrade and interrupt it, and read what it configures
	@packaging/test-package .build/deb/nwpath_*.deb

release: ## make dist/: packages, a portable archive, an SPDX document; TAG=v1.2.3 must be the version's
	@packaging/release --check $(TAG)
	@$(MAKE) build
	@packaging/install-dependencies package
	@packaging/release $(TAG)

test-release: release test-dependencies ## make dist/ again, compare, and run the archive in a bare Debian 12 and 13
	@packaging/test-release

repository: ## make an apt repository of dist/*.deb; KEY=FINGERPRINT or FILE signs it, URL=… is its address
	@KEY="$(KEY)" URL="$(URL)" UNSIGNED="$(UNSIGNED)" packaging/build-repository

test-repository: deb ## install and upgrade from a repository with the apt of Debian 12 and 13
	@packaging/test-repository .build/deb/nwpath_*.deb

test-swift-package: ## build and run the programs of docs/swift.md, with its Debian packages and no others
	@packaging/install-dependencies package
	@packaging/test-swift-package

image: deb ## build an OCI image of the package
	@packaging/install-dependencies image
	@packaging/build-image .build/deb/nwpath_*.deb .build/nwpath-image.tar

test-image: image ## run the image by podman
	@packaging/test-image .build/nwpath-image.tar

test-deploy: image ## try the files for compose, Kubernetes and Podman's units, and the Ansible role
	@packaging/test-deploy .build/nwpath-image.tar
	@packaging/test-ansible .build/deb/nwpath_*.deb

clean: ## remove what was built
	@rm -rf dist .build Benchmarks/.build Fuzz/.build
