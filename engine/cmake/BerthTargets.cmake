# Several files of a target compiled as one, which more than halves the time of a build from nothing; -DBERTH_UNITY=OFF is
# for those who edit. A file that Highway includes again per target stays alone. WHOLE, as everything under sanitizers: all
# other files as one, whose headers are read once. Where placements run, twenty at a time, as the compiler inlines less the
# larger what it compiles is; next to eight at a time that costs not half a percent of the instructions.
function(berth_unity target)
  cmake_parse_arguments(ARG "WHOLE" "" "" ${ARGN})
  set(batch 20)
  if(ARG_WHOLE OR CMAKE_BUILD_TYPE STREQUAL Checked)
    set(batch 0)
  endif()
  if(NOT BERTH_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # anonymous namespaces of the other files
  endif()
  foreach(source IN LISTS ARG_UNPARSED_ARGUMENTS)
    file(STRINGS ${source} again REGEX "HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    if(again)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# berth_add_folder(rank SOURCES a.cc b.cc PUBLIC berth::tables PRIVATE hwy::hwy): one static library per folder of engine/.
# COLD: compiled as one with -O1, which takes a quarter less time. So are the folders through which no placement runs, and
# those where placements spend their time on memory and calls. Measured there with -O2 in place of -O1, in seconds of the
# compiler and in instructions of quickstart and openb-like (smoke):
#   tables                       22.0 s -> 30.4 s    0.5 % and 0.3 % fewer
#   reconcile, plan, feasible    15.7 s -> 20.1 s    0.2 % and 0.3 % fewer
# -Og would take another quarter less, and 3 to 7 % more instructions, a life 28 %.
# HOT: functions may be inlined into others of their file although the library's objects are position independent: half a
# percent to one percent fewer instructions. And -O3, as without it quickstart takes 0.7 % and openb-like 1.2 % more
# instructions. The others have -O2: with -O3 they take up to a sixth more of the compiler's time, and no fewer instructions.
function(berth_add_folder name)
  cmake_parse_arguments(ARG "COLD;HOT" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(berth_${name} STATIC ${ARG_SOURCES})
  add_library(berth::${name} ALIAS berth_${name})
  if(ARG_COLD)
    berth_unity(berth_${name} WHOLE ${ARG_SOURCES})
    target_compile_options(berth_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  else()
    berth_unity(berth_${name} ${ARG_SOURCES})
    if(ARG_HOT)
      target_compile_options(berth_${name} PRIVATE -fno-semantic-interposition)
    else()
      target_compile_options(berth_${name} PRIVATE $<$<CONFIG:Release>:-O2>)
    endif()
  endif()
  target_link_libraries(berth_${name} PUBLIC ${ARG_PUBLIC} PRIVATE $<BUILD_INTERFACE:berth_flags> ${ARG_PRIVATE})
  target_include_directories(berth_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/engine>
                                                  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                  $<INSTALL_INTERFACE:include>)
  set_property(GLOBAL APPEND PROPERTY BERTH_LIBRARIES berth_${name})
endfunction()

# berth_add_test(rank SOURCES fit_test.cc LIBS berth::rank LABELS threads): one test program per folder of tests/, run by
# ctest. The targets unit_tests and thread_tests build those not labelled `slow` and those labelled `threads`: CI runs the
# first under the address and undefined behaviour sanitizers and the second under the thread sanitizer. Labelled `slow` is
# what takes long to build or to run there, and whose engine code other tests and the recorded decisions run as well.
add_custom_target(unit_tests)
add_custom_target(thread_tests)
function(berth_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  berth_unity(test_${name} WHOLE ${ARG_SOURCES})
  target_compile_options(test_${name} PRIVATE $<$<CONFIG:Release>:-Og> $<$<CONFIG:Checked>:-O0>)  # it checks and is not measured
  target_link_libraries(test_${name} PRIVATE ${ARG_LIBS} berth_flags berth_test_main)
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE BERTH_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                                  BERTH_BINARY_DIR="${PROJECT_BINARY_DIR}")
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "unit;${ARG_LABELS}")
  if(NOT "slow" IN_LIST ARG_LABELS)
    add_dependencies(unit_tests test_${name})
  endif()
  if("threads" IN_LIST ARG_LABELS)
    add_dependencies(thread_tests test_${name})
  endif()
endfunction()
