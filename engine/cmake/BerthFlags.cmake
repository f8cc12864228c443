# One INTERFACE target carries what berth's own sources are compiled with; users of the library do not inherit it.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# What the sanitizer presets build: assertions on, and little optimisation, which instrumented code compiles slowly with.
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

# GCC looks through all it holds for garbage ever again while that is little: a tenth of its time, for a quarter more
# memory. It waits where every core's compiler may hold 2.5 GiB, as the largest files take 2 GiB so. Of all the memory that
# the machine has, not of what is free just now: the flag is part of ccache's keys, and has to be the same in every checkout.
# Not among berth_flags, as it changes nothing of what is compiled.
cmake_host_system_information(RESULT memory_mib QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR memory_per_core "${memory_mib} / ${cores}")
if(memory_per_core GREATER_EQUAL 2560 AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(--param=ggc-min-heapsize=1048576)  # KiB
endif()

# Programs are position independent, as Debian's compiler links them. With these two options, all symbols are resolved at the start, and the
# tables of addresses cannot be written afterwards. Cost: half a million instructions at the start, 0.1 to 0.5 % of a smoke run.
add_link_options(LINKER:-z,relro,-z,now)

add_library(berth_flags INTERFACE)
# -ffp-contract=off: scores are compared bit by bit (R-RANK-101); a compiler must not fuse a*b+c by itself.
target_compile_options(berth_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers -Wno-psabi
                                             -ffp-contract=off -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)  # it warns of a function inside libstdc++ 12's stable_sort
  target_compile_options(berth_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(BERTH_WERROR)
  target_compile_options(berth_flags INTERFACE -Werror)
endif()
if(BERTH_SANITIZE)
  # The four checks left out stand on every member access and make up a third of the build; the address sanitizer sees
  # what they would see of broken pointers.
  target_compile_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
                                               -fno-sanitize=null,alignment,object-size,vptr)
  # Calls instead of code in line, which compiles in 5/6 of the time.
  if(BERTH_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(berth_flags INTERFACE "SHELL:--param asan-instrumentation-with-call-threshold=0")
  endif()
  target_link_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE})
  # The sanitizer's own code in each program instead of a shared library: it is called on every access of memory, and the call
  # goes the short way. Tests take a seventh less time. The thread sanitizer's would clash with tests that count allocations.
  if(BERTH_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_link_options(berth_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-static-libasan>)
  endif()
endif()
if(BERTH_FUZZ)  # edges and comparisons are counted; tests/fuzz links the fuzzer itself
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
