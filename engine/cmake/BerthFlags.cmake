# One INTERFACE target carries what berth's own sources are compiled with; users of the library do not inherit it.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Build type of the sanitizer presets: with assertions and little optimisation, because instrumented code compiles slowly.
set(CMAKE_CXX_FLAGS_CHECKED "-O1 -g1" CACHE STRING "Compiler flags of the sanitizer presets")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BERTH_CCACHE})
endif()

# By default GCC's garbage collector runs often while its heap is small. A larger minimum heap saves a tenth of the compile
# time for a quarter more memory. Used if every core's compiler may take 2.5 GiB: the largest files take 2 GiB. Decided by
# the machine's total memory, not by its free memory: the flag is part of ccache's keys and must not vary. Not in
# berth_flags, because it does not change the compiled code.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR memory_per_core "${memory_mib} / ${cores}")
if(memory_per_core GREATER_EQUAL 2560 AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(--param=ggc-min-heapsize=1048576)  # KiB
endif()

# Programs are position independent by default on Debian. These two options resolve all symbols at the start and make the
# tables of addresses read-only. Cost: half a million instructions at the start, 0.1 to 0.5 % of a smoke run.
add_link_options(LINKER:-z,relro,-z,now)

add_library(berth_flags INTERFACE)
# -ffp-contract=off: scores are compared bit by bit (R-RANK-101); a compiler must not fuse a*b+c by itself.
target_compile_options(berth_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers -Wno-psabi
                                             -ffp-contract=off -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)  # Clang warns about a function that libstdc++ 12's stable_sort uses
  target_compile_options(berth_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(BERTH_WERROR)
  target_compile_options(berth_flags INTERFACE -Werror)
endif()
if(BERTH_SANITIZE)
  # The four omitted checks instrument every member access and take a third of the build time. The address sanitizer finds
  # most of the broken pointers that they would find.
  target_compile_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
                                               -fno-sanitize=null,alignment,object-size,vptr)
  # Calls instead of inline checks: compiles in 5/6 of the time.
  if(BERTH_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(berth_flags INTERFACE "SHELL:--param asan-instrumentation-with-call-threshold=0")
  endif()
  target_link_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE})
  # Link the sanitizer's runtime statically: it is called at every memory access, and static calls are cheaper. Tests take a
  # seventh less time. The thread sanitizer's static runtime would clash with tests that count allocations.
  if(BERTH_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_link_options(berth_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-static-libasan>)
  endif()
endif()
if(BERTH_FUZZ)  # counts edges and comparisons; tests/fuzz links the fuzzer
  target_compile_options(berth_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(berth_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_include_directories(berth_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/engine> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated> $<INSTALL_INTERFACE:include>)
# Vector kernels are compiled for scalar code, SSE4, AVX2 and AVX-512 and chosen when the program runs.
if(CMAKE_BUILD_TYPE STREQUAL Checked)
  # Two paths are enough to check: one with masks and gathers, and scalar code.
  target_compile_definitions(berth_flags INTERFACE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|(HWY_AVX2-1))")
else()
  target_compile_definitions(berth_flags INTERFACE HWY_DISABLED_TARGETS=HWY_SSSE3)
endif()
