# Unity builds: several source files of a target are compiled as one, which more than halves the time of a full build. Use
# -DBERTH_UNITY=OFF while editing. Files that use Highway's foreach_target stay separate. Targets marked WHOLE, and all
# targets under sanitizers, become one file. The others are grouped by twenty files, because the compiler inlines less in
# larger files. Twenty instead of eight costs less than 0.5 % of the instructions.
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
# COLD: compiled as one file with -O1, which takes a quarter less time than -O2. For folders that no placement uses, and for
# those where placements spend their time on memory accesses and calls. Compiler seconds with -O1 -> -O2, and the
# instructions that -O2 saves in quickstart and openb-like (smoke):
#   tables                       22.0 s -> 30.4 s    0.5 % and 0.3 % fewer
#   reconcile, plan, feasible    15.7 s -> 20.1 s    0.2 % and 0.3 % fewer
# -Og would save another quarter of the time, but costs 3 to 7 % more instructions, and 28 % in a simulated cluster.
# HOT: -fno-semantic-interposition allows inlining within a file of position independent code: 0.5 to 1 % fewer
# instructions. And -O3: without it quickstart takes 0.7 % and openb-like 1.2 % more instructions. Other folders use -O2:
# -O3 costs up to a sixth more compile time there and saves no instructions.
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
# ctest. The target unit_tests builds the tests that are not labelled `slow`: CI runs them under the address and undefined
# behaviour sanitizers. thread_tests builds those labelled `threads`, for the thread sanitizer. `slow`: takes long to build
# or to run under sanitizers, and other tests or the recorded decisions run the same engine code.
add_custom_target(unit_tests)
add_custom_target(thread_tests)
function(berth_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  berth_unity(test_${name} WHOLE ${ARG_SOURCES})
  target_compile_options(test_${name} PRIVATE $<$<CONFIG:Release>:-Og> $<$<CONFIG:Checked>:-O0>)  # tests are not measured
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

# berth_add_model(fifo.pml LOCK_FREE "PRODUCERS=2 PUSHES=2" "PRODUCERS=1 PUSHES=3"): a test model_fifo that checks all
# interleavings of the Promela model within each set of bounds (tests/support/check_model.sh).
function(berth_add_model file)
  cmake_parse_arguments(ARG "LOCK_FREE" "" "" ${ARGN})
  get_filename_component(name ${file} NAME_WE)
  add_test(NAME model_${name}
    COMMAND bash ${PROJECT_SOURCE_DIR}/tests/support/check_model.sh $<$<BOOL:${ARG_LOCK_FREE}>:--lock-free>
            ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${ARG_UNPARSED_ARGUMENTS}
    COMMAND_EXPAND_LISTS)
  set_tests_properties(model_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endfunction()
