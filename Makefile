# `make demo` and `make test` are all a newcomer needs.
# Without make's own flags, whose job server Cargo cannot reach and warns of.
CARGO ?= env -u MAKEFLAGS -u MFLAGS cargo
FUZZ_SECONDS ?= 10
# Points at which tests end the server; a release build refuses them.
POINTS = --features mayhap-cli/fail-points
# With 0, tests of servers that are not installed are skipped.
MAYHAP_REQUIRE_SERVERS ?= 1
export MAYHAP_REQUIRE_SERVERS
# With 0, tests of tools that are not installed (strace, groff, a C compiler) are skipped.
MAYHAP_REQUIRE_TOOLS ?= 1
export MAYHAP_REQUIRE_TOOLS

# The command and the examples as the tests have built them.
debug = $(abspath $(or $(CARGO_TARGET_DIR),target))/debug

# Steps of `make check`, after its builds: the tests, and steps that need the processor while tests
# wait for servers.
CHECK_STEPS = unit doctest lint doc
# The long half, in three lanes of about the same processor time that .ci/run takes side by side. Of
# two builds into one folder one waits: steps with long builds into target/debug are in the first
# lane, and only the second builds into target/release.
LANE_1 = package planted-fit python-short engines-short loom shuttle
LANE_2 = web-short portable neon rates pairs instructions examples demo hostile-short test-interop
LANE_3 = kills borders features msrv miri fuzz install-test-short
DEEP_STEPS = $(LANE_1) $(LANE_2) $(LANE_3)

.PHONY: engines engines-short help demo dist install-test install-test-short build test check test-deep steps features msrv lint doc servers unit valkey doctest rates kills borders points planted debug examples planted-slow portable neon pairs instructions loom \
	shuttle miri sanitize fuzz package docs-rs semver test-interop python python-short web web-short plots hostile hostile-short bench bench-cli bench-jvm bench-redis bench-server bench-truth chaos failovers fronts soak compare clean planted-fit

help:
	@echo 'make demo       de-duplicate a real URL list, build and query a weak-password filter'
	@echo 'make dist       binaries, packages and crates of a release, each tried, with a table'
	@echo 'make install-test  install the Debian package on a bare system, upgrade it under load, purge it'
	@echo 'make test       format, lint, and the tests that need no server (6 minutes from nothing)'
	@echo 'make check      all tests, lint and docs: what a change has to pass (15 minutes from nothing)'
	@echo 'make test-deep  the long half: large rates, fuzzing, loom, shuttle, Miri, borders, kills, other systems'
	@echo 'make planted    plant each known bug in a copy of the source, and see a test find it (by hand)'
	@echo 'make valkey     the tests of filters on servers, on Valkey (2 minutes)'
	@echo 'make soak       kill the server, its disk and its power, and commands on files, for an hour'
	@echo 'make borders    every input cut at every byte, headers with a bit flipped, files damaged (5 minutes)'
	@echo 'make hostile    attack the release server and time its other clients (a minute)'
	@echo 'make bench      measure against other filters and tools (25 minutes); writes bench/results/'
	@echo 'make bench-truth  hold what is reported of losses and windows against what is so (2 minutes)'
	@echo 'make python     build and test the Python package; SDIST=1 from its source distribution too'
	@echo 'make web        build and test the browser package and its pages'
	@echo 'make engines    Spark on a cluster of its own, 100 million rows (an hour)'
	@echo 'make compare    run us and other tools through bench/results/compare.md (2 minutes)'
	@echo 'make chaos      break a Redis cluster in six ways and count lost keys (30 minutes)'
	@echo 'make failovers  kill masters of a cluster a hundred times, on Redis and Valkey (an hour)'
	@echo 'make fronts     break servers in front of a cluster, their clients and the cluster, on Redis and Valkey (12 minutes)'
	@echo 'make semver     compare the interfaces of the libraries with version 0.1.0 (a minute or more)'
	@echo 'make docs-rs    the documentation as docs.rs builds it (needs a nightly toolchain)'
	@echo 'make plots      draw the pictures of docs/ again'
	@echo 'make sanitize   address sanitizer (needs a nightly toolchain)'
	@echo 'Steps of make check:     $(CHECK_STEPS)'
	@echo 'Steps of make test-deep: $(DEEP_STEPS)'

# Its symbols are beside it, in mayhap.debug.
build:
	$(CARGO) build --release --locked -p mayhap-cli
	sh packaging/symbols.sh $${CARGO_TARGET_DIR:-target}/release/mayhap

# The verbs of the demo need neither a server nor Redis, and are fast enough without the last passes
# of the optimiser.
demo:
	$(CARGO) build --profile quick --locked -p mayhap-cli --no-default-features
	MAYHAP=$${CARGO_TARGET_DIR:-target}/quick/mayhap sh demo/run.sh

# Everything of a release, tried, in target/artefacts; PARTS and TARGETS choose.
dist:
	sh packaging/dist.sh

# The Debian package of a release on a bare system, upgraded to another build under load.
install-test:
	sh packaging/install-test.sh

# The same with the build of the tests.
install-test-short: debug
	MAYHAP=$(debug)/mayhap sh packaging/install-test.sh

# The newcomer's half: format, the tests that need no server and take seconds, the examples of the
# documentation, the linter. One after another, since each of them keeps all processors busy.
test:
	$(CARGO) fmt --all --check
	MAYHAP_REQUIRE_SERVERS=0 MAYHAP_REQUIRE_TOOLS=0 QUICK=1 CARGO='$(CARGO)' POINTS='$(POINTS)' .ci/tests.sh
	$(CARGO) test --workspace $(POINTS) --locked --doc
	$(CARGO) clippy --workspace --lib --bins --test it --test tidy $(POINTS) --locked -- -D warnings

# What a change has to pass. The tests are built first, or the linter would wait for them.
check: servers
	$(CARGO) fmt --all --check
	CARGO='$(CARGO)' POINTS='$(POINTS)' .ci/tests.sh --build
	BUILT=1 $(MAKE) --jobs=4 --output-sync=target $(CHECK_STEPS)

test-deep: $(DEEP_STEPS)

# For .ci/run: a lane a line.
steps:
	@echo $(LANE_1)
	@echo $(LANE_2)
	@echo $(LANE_3)

lint:
	$(CARGO) clippy --workspace --all-targets $(POINTS) --locked -- -D warnings
	$(CARGO) clippy -p mayhap --no-default-features --locked -- -D warnings

# The command without what its features add, and with each of them alone.
features:
	for feature in '' redis server; do \
		$(CARGO) clippy -p mayhap-cli --no-default-features --features "$$feature" --locked -- -D warnings \
			|| exit 1; \
	done

# Every published package, with the oldest compiler that it promises to build with.
msrv = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv:
	@if rustup run $(msrv) cargo --version >/dev/null 2>&1 \
		|| rustup toolchain install $(msrv) --profile minimal; then \
		env -u MAKEFLAGS -u MFLAGS cargo +$(msrv) check --workspace --exclude test-data \
			--exclude test-servers --exclude tidy --locked --target-dir $(dir $(debug))msrv; \
	else echo 'SKIPPED msrv: Rust $(msrv) cannot be installed here'; fi

# The servers that tests start: Redis and PostgreSQL.
servers:
	@[ '$(MAYHAP_REQUIRE_SERVERS)' = 0 ] || sh crates/test-servers/install.sh

unit: servers
	CARGO='$(CARGO)' POINTS='$(POINTS)' .ci/tests.sh rates_large

# The tests of filters on servers once more, with Valkey instead of Redis.
valkey:
	@if [ '$(MAYHAP_REQUIRE_SERVERS)' = 0 ]; then echo 'SKIPPED valkey: it needs servers'; else \
		sh crates/test-servers/install.sh valkey && export MAYHAP_REDIS_SERVER=valkey-server && \
		ONLY='/(mayhap-redis|test-servers) ' CARGO='$(CARGO)' POINTS='$(POINTS)' .ci/tests.sh && \
		ONLY='/mayhap-cli [^ ]* it$$' FILTERS='places:: remote:: remote_faults:: fronts:: far:: mission:: cookbook::' \
			CARGO='$(CARGO)' POINTS='$(POINTS)' .ci/tests.sh; fi

doctest:
	$(CARGO) test --workspace $(POINTS) --locked --doc

# Rates of filters of a million keys and more.
rates:
	$(CARGO) test --workspace $(POINTS) --locked --test rates_large

# Commands on files and the server, killed 20 times each while they write; nothing may be lost. `make
# soak` kills hundreds of times.
kills:
	MAYHAP_SOAK=1 ROUNDS=20 $(CARGO) test --workspace $(POINTS) --locked --test it -- --nocapture rounds::
	MAYHAP_SOAK=1 KILLS=20 $(CARGO) test --workspace $(POINTS) --locked --test serve -- --nocapture kill:: compact::

# Every form of input cut at every byte, every header with one bit flipped, every kind of file
# damaged; `make check` tries a sample.
borders:
	BORDERS=1 $(CARGO) test --workspace $(POINTS) --locked --lib --bins --tests -- borders::

# Only the ends of the server at points of its own.
points:
	$(CARGO) test -p mayhap-cli $(POINTS) --locked --test serve points:: -- --nocapture

# Bugs in a copy of the source, each to be found by the test that it names.
planted:
	CARGO='$(CARGO)' sh crates/mayhap/tests/planted/run.sh

# Whether each of them can still be planted.
planted-fit:
	FIT=1 sh crates/mayhap/tests/planted/run.sh

# The bugs for which the whole command is built.
planted-slow:
	CARGO='$(CARGO)' ONLY='slow/*' sh crates/mayhap/tests/planted/run.sh

# At full size, and they judge themselves: an attack on a guarded database, a crawler that is
# killed.
examples: servers
	@if [ '$(MAYHAP_REQUIRE_SERVERS)' = 0 ]; then echo 'SKIPPED examples: they need servers'; else \
		$(MAKE) --no-print-directory debug && \
		$(debug)/examples/cache_guard && $(debug)/examples/crawler; fi

doc:
	RUSTDOCFLAGS='-D warnings' nice $(CARGO) doc --workspace --no-deps --locked

# no_std, and the kernels of a machine that we may not be on.
portable:
	$(CARGO) check -p mayhap --no-default-features --locked
	@if rustup target list --installed 2>/dev/null | grep -q '^aarch64-unknown-linux-gnu$$' \
		|| rustup target add aarch64-unknown-linux-gnu; then \
		$(CARGO) clippy -p mayhap --target aarch64-unknown-linux-gnu --locked -- -D warnings; \
	else echo 'SKIPPED portable: the aarch64 standard library cannot be installed here'; fi

# The NEON kernels, run by an emulator.
neon:
	@if command -v qemu-aarch64 >/dev/null 2>&1 && command -v aarch64-linux-gnu-gcc >/dev/null 2>&1; then \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu' \
			$(CARGO) test -p mayhap --lib --locked --target aarch64-unknown-linux-gnu -- --nocapture simd:: digest::; \
	else echo 'SKIPPED neon: needs qemu-user and gcc-aarch64-linux-gnu'; fi

# Instructions per key of the hot paths, compared with the recorded ones.
instructions:
	CARGO='$(CARGO)' sh crates/mayhap/tests/instructions.sh
	CARGO='$(CARGO)' sh crates/mayhap/tests/instructions.sh neon

# Shared filters as on machines without `cmpxchg16b`, every ARM among them.
pairs:
	RUSTC_WORKSPACE_WRAPPER='$(CURDIR)/.ci/no-pairs.sh' $(CARGO) test -p mayhap --locked --lib --test it \
		-- layout:: simd:: builder:: concurrent:: presets:: scalable

loom:
	RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=target/loom \
		$(CARGO) test -p mayhap -p mayhap-store --locked --test loom
	RUSTFLAGS='--cfg loom' CARGO_TARGET_DIR=target/loom \
		$(CARGO) test -p mayhap-engine --locked --lib schedules

# Random schedules, for each scenario with 4, 5, 6, 7 and 8 threads; a failing one is printed.
SCHEDULES ?= 1000
shuttle:
	RUSTFLAGS='--cfg shuttle' CARGO_TARGET_DIR=target/shuttle SCHEDULES=$(SCHEDULES) \
		$(CARGO) test -p mayhap --locked --test shuttle
	RUSTFLAGS='--cfg shuttle' CARGO_TARGET_DIR=target/shuttle SCHEDULES=$(SCHEDULES) \
		$(CARGO) test -p mayhap-engine --locked --lib schedules

# Nightly tools gate where they exist; elsewhere a line names the skipped step. Under Miri only
# features that the compiler was told of are detected, so the kernels, which are compared with the
# scalar ones, have a run of their own with AVX2.
miri:
	@if $(CARGO) +nightly miri --version >/dev/null 2>&1; then \
		CARGO_TARGET_DIR=target/miri $(CARGO) +nightly miri test -p mayhap --lib -- bits:: digest:: simd::pair && \
		CARGO_TARGET_DIR=target/miri RUSTFLAGS='-Ctarget-feature=+avx2,+bmi1,+bmi2' \
			$(CARGO) +nightly miri test -p mayhap --lib -- simd::; \
	else echo 'SKIPPED miri: no nightly toolchain with miri here'; fi

sanitize:
	@if $(CARGO) +nightly --version >/dev/null 2>&1; then \
		CARGO_TARGET_DIR=target/asan RUSTFLAGS='-Zsanitizer=address' \
			$(CARGO) +nightly test --target x86_64-unknown-linux-gnu -p mayhap -p mayhap-store --lib; \
	else echo 'SKIPPED sanitize: no nightly toolchain here'; fi

fuzz:
	@if command -v c++ >/dev/null 2>&1; then sh fuzz/run.sh $(FUZZ_SECONDS); \
	else echo 'SKIPPED fuzz: libFuzzer needs a C++ compiler (g++)'; fi

# Every crate as it would be published, without building it again.
package:
	$(CARGO) package --workspace --exclude test-data --exclude test-servers --exclude tidy --no-verify --locked --allow-dirty

# What the libraries no longer promise, and the public interface of the core (crates/mayhap/API.txt).
semver:
	CARGO='$(CARGO)' sh packaging/semver.sh

# The documentation of every published crate as docs.rs builds it.
docs-rs:
	@if $(CARGO) +nightly --version >/dev/null 2>&1; then CARGO='$(CARGO)' sh packaging/docs-rs.sh; \
	else echo 'SKIPPED docs-rs: no nightly toolchain here'; fi

# Filters exchanged with JVM libraries, both ways; SPARK=1 downloads Spark's (450 MB). Filters that
# the command creates, opened and extended by their systems. Clients in Python and JavaScript
# against the server, and against one in front of a cluster; redis-py's own Bloom tests against both;
# requests by its OpenAPI description, by schemathesis.
test-interop: debug
	sh crates/mayhap-formats/tests/interop/run.sh
	sh crates/mayhap-formats/tests/interop/others.sh
	MAYHAP=$(debug)/mayhap sh crates/mayhap-cli/tests/interop/run.sh
	MAYHAP=$(debug)/mayhap CLUSTER=$(debug)/examples/cluster sh crates/mayhap-server/tests/interop/run.sh

# The Python package, installed in fresh virtual environments and tested with the real NumPy, Scrapy
# and others, on each of PYTHONS.
python: servers debug
	MAYHAP=$(debug)/mayhap sh bindings/python/test.sh

# The same with a faster build, which reuses builds where they are the same.
python-short: servers debug
	MAYHAP=$(debug)/mayhap PROFILE=dev CARGO_TARGET_DIR=$(abspath $(debug)/..) \
		sh bindings/python/test.sh

# The modules for browsers in Node, the pages in Chromium; prints their sizes.
web: debug servers
	CARGO='$(CARGO)' MAYHAP=$(debug)/mayhap sh web/test.sh

# The same without the builds for vector instructions; in folders of its own, except for the
# command.
web-short: debug servers
	CARGO='$(CARGO)' MAYHAP=$(debug)/mayhap SHORT=1 sh web/test.sh

# Spark on a cluster of its own, against Spark's own means; recorded in bench/results/engines.md.
engines:
	sh engines/spark/run.sh --record

# The same with a million rows, after the tests of the parts that run in engines.
engines-short: debug
	MAYHAP=$(debug)/mayhap PROFILE=dev CARGO_TARGET_DIR=$(abspath $(debug)/..) TESTS=1 \
		sh engines/spark/run.sh --short

debug:
	$(CARGO) build --workspace $(POINTS) --locked --bin mayhap --examples

# The pictures of docs/; a test says when they are old. Look at the result.
plots:
	for what in fpp size hashes bits overfill; do \
		$(CARGO) run --release --locked -p mayhap-cli -- plot $$what --force -o docs/plots/$$what.svg || exit 1; done

bench:
	$(CARGO) run --release --manifest-path bench/Cargo.toml --bin filters
	MAYHAP_KERNEL=avx2 $(CARGO) run --release --manifest-path bench/Cargo.toml --bin filters -- \
		--keys u64 --fpp 0.01 --out bench/results
	$(CARGO) run --release --manifest-path bench/Cargo.toml --bin filters -- --kinds
	sh bench/cli.sh

# Filters in Redis against hand-written ones.
bench-redis: servers
	sh bench/redis.sh

# Attacks on the release binary, and their effect on other clients; ends with 1 where a bound is
# missed.
hostile:
	sh bench/hostile.sh --out bench/results

# The same attacks on the build of the tests, a fifth of a second each, with bounds on memory and
# answers and none on time.
hostile-short: debug
	MAYHAP=$(debug)/mayhap sh bench/hostile.sh --short

# The server under load, beside Redis.
bench-server: servers
	sh bench/server.sh

# The command's reports on losses and windows against the truth; ends with 1 where they differ.
bench-truth: servers build
	$(CARGO) run --release --manifest-path bench/Cargo.toml --bin truth -- --out bench/results

# The losses of a cluster whose nodes are killed, frozen or cut off, and whose slots move.
chaos: servers
	sh bench/redis-faults.sh

# Masters of a cluster killed under load this often, without waiting for replicas, on Redis and on
# Valkey: nothing acknowledged after the failure was seen may be lost (20 s a round).
FAILOVERS ?= 100
failovers: servers
	sh crates/test-servers/install.sh valkey
	for server in redis-server valkey-server; do \
		MAYHAP_REDIS_SERVER=$$server FAILOVERS=$(FAILOVERS) $(CARGO) test -p mayhap-redis --locked \
			--test it -- --nocapture failovers:: || exit 1; \
	done

# Two servers in front of a cluster (`mayhap serve --store`) and clients of both, this often with one
# of their faults, on Redis and on Valkey: nothing acknowledged may be lost where docs/machines.md
# says so, no answer wrong, nothing left over (3 s a round).
FRONTS ?= 120
fronts: servers
	sh crates/test-servers/install.sh valkey
	for server in redis-server valkey-server; do \
		MAYHAP_REDIS_SERVER=$$server FRONTS=$(FRONTS) $(CARGO) test -p mayhap-cli $(POINTS) --locked \
			--test it -- --nocapture fronts:: || exit 1; \
	done

# The server's durability: kills, power cuts, a fault at every call and crash states of the log, in
# these numbers of runs; a mixed load for some minutes.
KILLS ?= 300
MINUTES ?= 30
ROUNDS ?= 20
soak:
	MAYHAP_SOAK=1 KILLS=$(KILLS) MINUTES=$(MINUTES) \
		$(CARGO) test -p mayhap-cli --locked --test serve -- --nocapture
	MAYHAP_SOAK=1 ROUNDS=$(ROUNDS) \
		$(CARGO) test -p mayhap-engine --locked --lib durable -- --nocapture
	MAYHAP_SOAK=1 $(CARGO) test -p mayhap-cli --locked --test it rounds:: -- --nocapture
	MAYHAP_SOAK=1 $(CARGO) test -p mayhap-store --locked --lib model:: -- --nocapture
	$(MAKE) shuttle SCHEDULES=50000

# The features of mayhap and others, found out by running them.
compare:
	sh bench/compare.sh > bench/results/compare.md.new && mv bench/results/compare.md.new bench/results/compare.md

# Guava and Spark, queried by a JVM and here; needs a JDK and their jars.
bench-jvm:
	sh bench/jvm.sh

clean:
	$(CARGO) clean
