# Files that `cmake --install build/release --prefix P` and `cpack` install. The program with its workloads, data, schemas,
# man pages and completion. For programs that use the engine: the public headers, one library of all folders of engine/
# (a new folder is included automatically), and the files for find_package(berth) and pkg-config.
option(BERTH_SHARED "The library as a shared object, libberth.so, instead of an archive" OFF)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The program and the tests link one library per folder. This library contains the objects of all of them.
get_property(libraries GLOBAL PROPERTY BERTH_LIBRARIES)
set(objects "")
foreach(library IN LISTS libraries)
  get_target_property(directory ${library} SOURCE_DIR)
  cmake_path(RELATIVE_PATH directory BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
  if(relative MATCHES "^engine/")
    list(APPEND objects $<TARGET_OBJECTS:${library}>)
  endif()
endforeach()
set(kind STATIC)
if(BERTH_SHARED)
  set(kind SHARED)
endif()
add_library(berth_library ${kind} ${objects})
add_library(berth::berth ALIAS berth_library)
set_target_properties(berth_library PROPERTIES OUTPUT_NAME berth EXPORT_NAME berth LINKER_LANGUAGE CXX
                                               VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_include_directories(berth_library PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(berth_library PUBLIC cxx_std_20)
target_link_libraries(berth_library PUBLIC tl::expected
                                    PRIVATE TBB::tbb fmt::fmt hwy::hwy OpenSSL::Crypto PkgConfig::b2 PkgConfig::mpfr PkgConfig::re2
                                            PkgConfig::utf8proc PkgConfig::yaml cctz crypt simdjson::simdjson
                                            Snappy::snappy Threads::Threads tomlplusplus::tomlplusplus ZLIB::ZLIB)
if(BERTH_SANITIZE)
  target_link_options(berth_library PRIVATE -fsanitize=${BERTH_SANITIZE})
endif()
# A static library's dependencies become dependencies of whatever links it.
set(BERTH_REQUIRES "tbb fmt libhwy libcrypto libb2 mpfr re2 libutf8proc simdjson snappy tomlplusplus yaml-0.1 zlib")
set(BERTH_LIBS "-lberth -lstdc++ -lcctz -lcrypt -lm")  # a C compiler links the C++ library only where it is named
if(BERTH_SHARED)
  set(BERTH_REQUIRES "")
  set(BERTH_LIBS "-lberth")
endif()

# One line before anything is copied, instead of an error in the middle of an installation.
install(CODE "
  foreach(file IN ITEMS \"$<TARGET_FILE:berth_library>\" $<$<TARGET_EXISTS:berth_program>:\"$<TARGET_FILE:berth_program>\" \"${PROJECT_BINARY_DIR}/generated/man1\">)
    if(NOT EXISTS \"\${file}\")
      message(FATAL_ERROR \"\${file} is not built; run: cmake --build ${PROJECT_BINARY_DIR} --target berth_install_files\")
    endif()
  endforeach()" ALL_COMPONENTS)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
install(TARGETS berth_library EXPORT berth-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(EXPORT berth-targets NAMESPACE berth:: DESTINATION ${package_dir} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/berth DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.h")
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/berth-config.cmake.in
                              ${PROJECT_BINARY_DIR}/generated/berth-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/berth-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig
           OUTPUT_VARIABLE BERTH_PC_PREFIX)  # found from the file itself, wherever the prefix is moved
configure_file(${CMAKE_CURRENT_LIST_DIR}/berth.pc.in ${PROJECT_BINARY_DIR}/generated/berth.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/berth-config.cmake ${PROJECT_BINARY_DIR}/generated/berth-config-version.cmake
        DESTINATION ${package_dir} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/generated/berth.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

if(TARGET berth_program)
  # The program itself generates its man pages and shell completion.
  set(man ${PROJECT_BINARY_DIR}/generated/man1)
  set(completion ${PROJECT_BINARY_DIR}/generated/completion)
  add_custom_command(OUTPUT ${completion}/berth.fish
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${man} ${completion}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${man} ${completion}
    COMMAND berth_program man --into ${man}
    COMMAND berth_program completion bash > ${completion}/berth
    COMMAND berth_program completion zsh > ${completion}/_berth
    COMMAND berth_program completion fish > ${completion}/berth.fish
    DEPENDS berth_program
    COMMENT "Writing man pages and completion")
  add_custom_target(berth_documentation ALL DEPENDS ${completion}/berth.fish)

  add_custom_target(berth_install_files DEPENDS berth_documentation berth_library)  # what `cmake --install` needs

  install(TARGETS berth_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(DIRECTORY ${man} DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
  install(FILES ${completion}/berth DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
  install(FILES ${completion}/_berth DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
  install(FILES ${completion}/berth.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
  set(data ${CMAKE_INSTALL_DATADIR}/berth)  # where engine/sim/datasets.h looks
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/macro/ DESTINATION ${data}/workloads COMPONENT program)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench/schema DESTINATION ${data} COMPONENT program)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/datasets DESTINATION ${data} COMPONENT program
          PATTERN data EXCLUDE PATTERN "*.sh" EXCLUDE PATTERN "*.py" EXCLUDE PATTERN manifest EXCLUDE)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
          COMPONENT program)
  # The list of software inside, with licences. Made at installation, because a build does not need it.
  set(sbom ${PROJECT_BINARY_DIR}/generated/sbom)
  install(CODE "
    execute_process(COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/sbom.sh $<TARGET_FILE:berth_program> ${PROJECT_SOURCE_DIR} ${sbom} RESULT_VARIABLE failed)
    if(NOT failed EQUAL 0 AND NOT failed EQUAL 77)
      message(FATAL_ERROR \"${CMAKE_CURRENT_LIST_DIR}/sbom.sh failed: the lines above say why\")
    endif()" COMPONENT program)
  install(DIRECTORY ${sbom}/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program OPTIONAL)
endif()
if(TARGET berth_mpi)
  # A separate package, because it needs Open MPI. `berth sweep --on mpi` looks for it next to the program.
  install(TARGETS berth_mpi OPTIONAL RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mpi)
endif()

# Debian packages: cpack --config build/release/CPackConfig.cmake
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "berth maintainers <berth@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program development)
if(BERTH_SHARED)
  list(APPEND CPACK_COMPONENTS_ALL library)
endif()
if(TARGET berth_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME berth)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libarchive13, libcurl4")  # loaded when first used, so the linker does not list them
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS libjs-chart.js)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libberth)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS libarchive13)
set(CPACK_DEBIAN_MPI_PACKAGE_NAME berth-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "berth (= ${PROJECT_VERSION}), openmpi-bin")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libberth-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libarchive13, libexpected-dev, libtbb-dev, libb2-dev, libcctz-dev, libfmt-dev, libhwy-dev, libssl-dev, libmpfr-dev, libre2-dev, libsimdjson-dev, libsnappy-dev, libtomlplusplus-dev, libutf8proc-dev, libyaml-dev, zlib1g-dev")
if(BERTH_SHARED)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libexpected-dev, libberth (= ${PROJECT_VERSION})")
endif()
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "The program berth: runs workloads, compares strategies, plans jobs")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "The engine as a C++ library: headers, and what CMake and pkg-config need")
set(CPACK_COMPONENT_MPI_DESCRIPTION "The runs of `berth sweep --on mpi`")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The engine as a shared library")
include(CPack)
