# One INTERFACE target carries what berth's own sources are compiled with; users of the library do not inherit it.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# What the sanitizer presets build: assertions on, and little optimisation, which instrumented code compiles slowly with.
set(CMAKE_CXX_FLAGS_CHECKED "-O1 -g1")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BERTH_CCACHE})
endif()

add_library(berth_flags INTERFACE)
# -ffp-contract=off: scores are compared bit by bit (R-RANK-101); a compiler must not fuse a*b+c by itself.
target_compile_options(berth_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
                                             -ffp-contract=off -fno-math-errno)
if(BERTH_WERROR)
  target_compile_options(berth_flags INTERFACE -Werror)
endif()
if(BERTH_SANITIZE)
  target_compile_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(berth_flags INTERFACE -fsanitize=${BERTH_SANITIZE})
endif()
target_include_directories(berth_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/engine> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated> $<INSTALL_INTERFACE:include>)
# Vector kernels are compiled for scalar code, SSE4, AVX2 and AVX-512 and chosen when the program runs.
target_compile_definitions(berth_flags INTERFACE HWY_DISABLED_TARGETS=HWY_SSSE3)
