# Writes generated/build_info_values.cc, the values behind engine/base/build_info.h. Included by the project it declares
# the target that runs this same file as a script before every build; the script rewrites the file only when the commit
# or the flags changed, so a build without changes compiles nothing.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type_upper)
  get_target_property(options berth_flags INTERFACE_COMPILE_OPTIONS)
  list(JOIN options " " options)
  string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type_upper}}" base_flags)
  set(BERTH_BUILD_INFO_SOURCE ${PROJECT_BINARY_DIR}/generated/build_info_values.cc)
  add_custom_target(berth_build_info_source
    COMMAND ${CMAKE_COMMAND}
      -DOUTPUT=${BERTH_BUILD_INFO_SOURCE} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
      "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
      "-DFLAGS=${CMAKE_BUILD_TYPE}: ${base_flags} -std=c++${CMAKE_CXX_STANDARD} ${options}"
      -DBUILD_TYPE=${CMAKE_BUILD_TYPE} "-DSANITIZE=${BERTH_SANITIZE}"
      -P ${CMAKE_CURRENT_LIST_FILE}
    BYPRODUCTS ${BERTH_BUILD_INFO_SOURCE}
    COMMENT "Noting the commit of this build" VERBATIM)
  return()
endif()

set(commit "unknown")
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE_DIR} rev-parse --show-toplevel
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  file(REAL_PATH "${SOURCE_DIR}" source_dir)
  # An unpacked archive inside another repository has no commit of its own.
  if(NOT failed AND top STREQUAL source_dir)
    execute_process(COMMAND ${git} -C ${SOURCE_DIR} rev-parse HEAD
                    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
      set(commit "${head}")
      execute_process(COMMAND ${git} -C ${SOURCE_DIR} status --porcelain --untracked-files=no
                      OUTPUT_VARIABLE changes ERROR_QUIET)
      if(NOT changes STREQUAL "")
        string(APPEND commit "-dirty")
      endif()
    endif()
  endif()
endif()

string(CONCAT content
  "// Written by engine/cmake/BerthBuildInfo.cmake; do not edit.\n"
  "#include \"base/build_info.h\"\n\n"
  "namespace berth::base {\n"
  "const BuildInfo& build_info() {\n"
  "  static constexpr BuildInfo kInfo{R\"(${VERSION})\", R\"(${commit})\", R\"(${COMPILER})\", R\"(${FLAGS})\",\n"
  "                                   R\"(${BUILD_TYPE})\", R\"(${SANITIZE})\"};\n"
  "  return kInfo;\n"
  "}\n"
  "}  // namespace berth::base\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL content)
  file(WRITE ${OUTPUT} "${content}")
endif()
