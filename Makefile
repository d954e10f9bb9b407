# warploom: build, demo, tests, benchmarks, installation. See README.md.

CARGO   ?= cargo
PREFIX  ?= /usr/local
DESTDIR ?=
LIBDIR   = $(DESTDIR)$(PREFIX)/lib/warploom
TARGET   = $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
RELEASE  = $(TARGET)/release
BUILD    = build
# LLVM, hidden in a library of its own. WITHOUT_COMPILER=1 leaves it out: the interpreter runs everything.
COMPILER = $(if $(filter-out 0,$(WITHOUT_COMPILER)),,$(RELEASE)/libwarploom-simt.so)
RUNTIMES = --package warploom-cudart11 --package warploom-cudart12 --package warploom-cudart13

.PHONY: all demo debug test lint unit unit-programs fuzz fuzz-kernels fuzz-briefly sweep sweep-compiled suite test-samples test-apps bench install clean

all: release

.PHONY: release
release: $(COMPILER)
	@scripts/need.sh cc nm
	@$(if $(COMPILER),,rm -f $(RELEASE)/libwarploom-simt.so)
	$(CARGO) build --release --package warploom-libcuda --package warploom-cli --package warploom-audit --package warploom-compilers --package warploom-nvml $(RUNTIMES)
	@ln -sf libcuda.so $(RELEASE)/libcuda.so.1
	@ln -sf libcudart11.so $(RELEASE)/libcudart.so.11.0
	@ln -sf libcudart12.so $(RELEASE)/libcudart.so.12
	@ln -sf libcudart13.so $(RELEASE)/libcudart.so.13
	@ln -sf libwarploom_nvml.so $(RELEASE)/libnvidia-ml.so.1
	@for major in 12 13; do mkdir -p $(RELEASE)/$$major && \
	  scripts/static_runtime.sh $(RELEASE)/libcudart$$major.a crates/cudart$$major/src/generated/symbols.txt $(RELEASE)/$$major/libcudart_static.a || exit 1; done

$(TARGET)/%/libwarploom-simt.so: crates/jit/src/llvm.rs scripts/link_compiler.sh
	@scripts/need.sh cc c++ llvm-19-dev zlib1g-dev libzstd-dev
	@mkdir -p $(@D)
	scripts/link_compiler.sh crates/jit/src/llvm.rs $@

# The main job: the guide's vector addition, 10 million elements, verified.
demo: release
	@mkdir -p $(BUILD)
	$(CC) -std=c11 -O2 -Wall -Iinclude -o $(BUILD)/vector_add demo/vector_add/vector_add.c -ldl
	$(RELEASE)/warploom run -- $(BUILD)/vector_add demo/vector_add/vector_add.ptx

# Everything is tested as `debug` builds it, with debug assertions; the sweeps and the suite take as long with the release build, which takes minutes
# to make. Many tests wait for something, and clients are fetched: several at once keep two cores busy. What each prints comes when it ends.
test: lint debug
	$(MAKE) --no-print-directory --jobs=3 --output-sync=target PROFILE=debug APPS_ARGS=--quick \
	  COMPILED_MOST=150 COMPILED_EVERY=5 unit unit-programs test-apps fuzz-briefly sweep $(if $(COMPILER),sweep-compiled) suite

# What sweeps and suite are run on: release, or debug. (Variables of the command line are exported; nvcc takes LIBRARIES for its own.)
PROFILE = release
LIBCUDA = $(abspath $(TARGET)/$(PROFILE)/libcuda.so.1)

lint:
	@scripts/need.sh cc
	$(CARGO) fmt --all --check
	$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --workspace --no-deps --lib $(NOT_LINKED:%=--exclude %)
# Libraries that programs load: none of Rust's reads their pages, nor those of commands.
NOT_LINKED = warploom-cudart11 warploom-cudart12 warploom-cudart13 warploom-nvml

# One selection of packages for the libraries, their tests and xtask: another (`cargo xtask` is one) has other features, and builds most crates again.
debug: $(if $(COMPILER),$(TARGET)/debug/libwarploom-simt.so)
	@scripts/need.sh cc c++ nm clang-19 llvm-19-dev zlib1g-dev libzstd-dev python3-venv
	$(CARGO) build --workspace --lib --bins --tests
	@ln -sf libcuda.so $(TARGET)/debug/libcuda.so.1

# The tests of the workspace in two halves, as binaries of tests run one after the other and many wait: those that have programs compiled, and all others.
# rustdoc would warn of a jobserver that is not its own.
unit: debug
	$(TARGET)/debug/xtask codegen --check
	LIBRARIES_ARE_BUILT=1 $(CARGO) test --workspace --no-fail-fast $(NOT_TESTED:%=--exclude %) --lib --bins $(patsubst %,--test %,$(filter-out $(PROGRAM_TESTS),$(TESTS)))
	MAKEFLAGS= LIBRARIES_ARE_BUILT=1 $(CARGO) test --workspace --no-fail-fast --doc
unit-programs: debug
	LIBRARIES_ARE_BUILT=1 $(CARGO) test --workspace --no-fail-fast $(PROGRAM_TESTS:%=--test %)
PROGRAM_TESTS = nvcc programs recorded_programs
# What says in its Cargo.toml that it has no tests, which --lib and --bins do not look at.
NOT_TESTED = warploom-api-fuzz warploom-cudart11 warploom-cudart12 warploom-cudart13 warploom-interp-testing warploom-kernel-fuzz
TESTS = $(sort $(basename $(notdir $(wildcard crates/*/tests/*.rs xtask/tests/*.rs))) $(notdir $(patsubst %/main.rs,%,$(wildcard crates/*/tests/*/main.rs))))

# Both fuzzers, for as long as every test run can afford.
fuzz-briefly: debug
	$(TARGET)/debug/api-fuzz --libcuda $(TARGET)/debug/libcuda.so --seed 1 --seconds 12
	$(TARGET)/debug/kernel-fuzz --seed 1 --seconds 12

# Every function of the driver with arguments good and bad, for as long as FUZZ_SECONDS says, from a seed that is printed.
fuzz:
	$(CARGO) build --package warploom-libcuda --package warploom-api-fuzz
	$(TARGET)/debug/api-fuzz --libcuda $(TARGET)/debug/libcuda.so --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

# Generated kernels, interpreted and compiled: what they compute is compared. What differs is put into FUZZ_KEEP as a filetest.
fuzz-kernels:
	$(CARGO) build --package warploom-kernel-fuzz
	$(TARGET)/debug/kernel-fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --keep $(FUZZ_KEEP)

FUZZ_SECONDS = 600
FUZZ_KEEP    = $(BUILD)/kernel-fuzz
FUZZ_SEED    = $(shell date +%s)

# What an H200 and an H100 computed for thousands of PTX instructions, and an H100 for asynchronous copies and clusters, against ours; and what calls answer.
sweep: $(PROFILE)
	@scripts/need.sh python3-numpy
	SWEEP_LIBCUDA=$(LIBCUDA) /usr/bin/python3 tests/ptx_sweep/sweep.py check tests/goldens/ptx_sweep \
	  --jobs 2 --filter '$(SWEEP_FAMILIES)'
	python3 tests/ptx_async/run.py check tests/goldens/ptx_async.json $(LIBCUDA)
	WARPLOOM_JIT=off python3 tests/goldens/mma_special.py --check tests/goldens/mma_special.json $(LIBCUDA)
	WARPLOOM_JIT=off python3 tests/goldens/wgmma_reals.py --check tests/goldens/wgmma_reals.json $(LIBCUDA)
	WARPLOOM_JIT=off python3 tests/goldens/member_masks.py --check tests/goldens/member_masks.json $(LIBCUDA)
	WARPLOOM_JIT=off python3 tests/goldens/texture_forms.py --check tests/goldens/texture_forms.json $(LIBCUDA)
	WARPLOOM_JIT=off python3 tests/goldens/surface_forms.py --check tests/goldens/surface_forms.json $(LIBCUDA)
	WARPLOOM_JIT=off python3 tests/goldens/call_answers.py --check tests/goldens/call_answers.json $(LIBCUDA)
	LD_LIBRARY_PATH=$(dir $(LIBCUDA)) WARPLOOM_JIT=off python3 tests/goldens/runtime_calls.py --check tests/goldens/runtime/calls_13.json $(dir $(LIBCUDA))libcudart13.so
	LD_LIBRARY_PATH=$(dir $(LIBCUDA)) WARPLOOM_JIT=off python3 tests/goldens/runtime_graphs.py --check tests/goldens/runtime/graphs_13.json $(dir $(LIBCUDA))libcudart13.so
SWEEP_FAMILIES = .

# The same of compiled code, which has to be there for all but listed tests; and how many of each family that are. `make test` has no more tests of a family
# compiled than COMPILED_MOST, and each COMPILED_EVERYth kind of products of warpgroups: all take two minutes more.
sweep-compiled: $(PROFILE)
	@scripts/need.sh python3-numpy
	SWEEP_LIBCUDA=$(LIBCUDA) CUDA_CACHE_DISABLE=1 /usr/bin/python3 tests/ptx_sweep/sweep.py check tests/goldens/ptx_sweep \
	  --jobs 2 --compiled tests/ptx_sweep/declined.txt --filter '$(COMPILED_FAMILIES)' $(COMPILED_MOST:%=--most %)
	WARPLOOM_JIT=always CUDA_CACHE_DISABLE=1 python3 tests/goldens/mma_special.py --check tests/goldens/mma_special.json $(LIBCUDA)
	WARPLOOM_JIT=always CUDA_CACHE_DISABLE=1 python3 tests/goldens/wgmma_reals.py $(COMPILED_EVERY:%=--every %) --check tests/goldens/wgmma_reals.json $(LIBCUDA)
	WARPLOOM_JIT=always CUDA_CACHE_DISABLE=1 python3 tests/goldens/member_masks.py --check tests/goldens/member_masks.json $(LIBCUDA)
# Comparisons and texture instructions, which are many or left to the interpreter anyway, would take as long again.
COMPILED_FAMILIES = ^(int|int-cc|float|half|logic|cvt|mov|warp|atomic|memory|control|special|mma|mma-sp|wmma|ldmatrix)$$

# Every benchmark kernel at full size, results compared with native code.
suite: $(PROFILE) $(BUILD)/suite/bench $(BUILD)/suite/bench-more
	BENCH_LIBCUDA=$(LIBCUDA) $(BUILD)/suite/bench --dir benches/suite --verify --no-opencl --no-cold --no-latency --no-limits
	BENCH_LIBCUDA=$(LIBCUDA) $(BUILD)/suite/bench-more --dir benches/suite/more --verify --no-opencl --no-cold --no-latency --no-limits

$(BUILD)/suite/bench: $(wildcard benches/suite/*.cpp benches/suite/*.h benches/suite/kernels/*.cu) benches/suite/tools/make_ptx.sh benches/suite/tools/cuda_device.h
	@scripts/need.sh clang++-19 libomp-19 g++
	sh benches/suite/tools/make_ptx.sh
	@mkdir -p $(@D)
	$(MAKE) --no-print-directory -C benches/suite BUILD=$(abspath $(@D))

# After the first set's program: they share objects.
$(BUILD)/suite/bench-more: $(BUILD)/suite/bench $(wildcard benches/suite/more/*.cpp benches/suite/more/*.h benches/suite/more/kernels/*.cu)
	sh benches/suite/tools/make_ptx.sh more/ptx more
	$(MAKE) --no-print-directory -C benches/suite BUILD=$(abspath $(@D)) more

# NVIDIA's published samples that are known to pass (tests/samples), built with its compiler: fetches both. Not part of `make test`.
test-samples: release
	@scripts/need.sh git make g++ python3-venv freeglut3-dev libfreeimage-dev libopenmpi-dev mpirun llvm-14-dev
	/usr/bin/python3 tests/samples/run.py $(BUILD)/samples --warploom $(RELEASE)/warploom $(SAMPLES_ARGS)

# Clients from PyPI and crates.io (tests/apps), which it fetches: 75 says that some were out of reach, and which. The quick ones are part of `make test`.
test-apps: $(PROFILE)
	@scripts/need.sh python3-venv git
	/usr/bin/python3 tests/apps/run.py $(BUILD)/apps --warploom $(TARGET)/$(PROFILE)/warploom $(APPS_ARGS) || [ $$? -eq 75 ]

bench: release $(BUILD)/suite/bench
	$(CARGO) bench --workspace
	BENCH_LIBCUDA=$(abspath $(RELEASE))/libcuda.so.1 $(BUILD)/suite/bench --dir benches/suite $(BENCH_ARGS)

install: release
	install -d $(DESTDIR)$(PREFIX)/bin $(LIBDIR) $(DESTDIR)$(PREFIX)/include/warploom
	install -m 755 $(RELEASE)/warploom $(DESTDIR)$(PREFIX)/bin/warploom
	install -d $(LIBDIR)/bin
	ln -sf ../../../bin/warploom $(LIBDIR)/bin/ptxas
	ln -sf ../../../bin/warploom $(LIBDIR)/bin/nvidia-smi
	ln -sf ../../../bin/warploom $(LIBDIR)/bin/nvlink
	install -m 755 $(RELEASE)/libcuda.so $(LIBDIR)/libcuda.so.1
	ln -sf libcuda.so.1 $(LIBDIR)/libcuda.so
	install -m 755 $(RELEASE)/libcudart11.so $(LIBDIR)/libcudart.so.11.0
	install -m 755 $(RELEASE)/libcudart12.so $(LIBDIR)/libcudart.so.12
	install -m 755 $(RELEASE)/libcudart13.so $(LIBDIR)/libcudart.so.13
	install -m 755 $(RELEASE)/libwarploom_nvml.so $(LIBDIR)/libnvidia-ml.so.1
	ln -sf libnvidia-ml.so.1 $(LIBDIR)/libnvidia-ml.so
	install -m 755 $(RELEASE)/libwarploom_audit.so $(LIBDIR)/libwarploom_audit.so
	install -m 755 $(RELEASE)/libwarploom_compilers.so $(LIBDIR)/libwarploom_compilers.so
	$(if $(COMPILER),install -m 755 $(COMPILER) $(LIBDIR)/libwarploom-simt.so,rm -f $(LIBDIR)/libwarploom-simt.so)
	install -d $(LIBDIR)/12 $(LIBDIR)/13
	install -m 644 $(RELEASE)/12/libcudart_static.a $(LIBDIR)/12/libcudart_static.a
	install -m 644 $(RELEASE)/13/libcudart_static.a $(LIBDIR)/13/libcudart_static.a
	ln -sf ../libcudart.so.12 $(LIBDIR)/12/libcudart.so
	ln -sf ../libcudart.so.13 $(LIBDIR)/13/libcudart.so
	install -m 644 include/*.h $(DESTDIR)$(PREFIX)/include/warploom

clean:
	$(CARGO) clean
	rm -rf $(BUILD) benches/suite/ptx benches/suite/more/ptx
