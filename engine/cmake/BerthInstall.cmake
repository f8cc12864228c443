# `cmake --install build/release --prefix P`: the program, the public headers, the engine's static libraries, and what
# find_package(berth) needs. berth::berth links every library of engine/: a new folder is part of it by being there.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(berth INTERFACE)
add_library(berth::berth ALIAS berth)
target_include_directories(berth INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(berth INTERFACE cxx_std_20)

get_property(libraries GLOBAL PROPERTY BERTH_LIBRARIES)
set(engine_libraries "")
foreach(library IN LISTS libraries)
  get_target_property(directory ${library} SOURCE_DIR)
  cmake_path(RELATIVE_PATH directory BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE relative)
  if(relative MATCHES "^engine/")
    list(APPEND engine_libraries ${library})
  endif()
endforeach()
target_link_libraries(berth INTERFACE ${engine_libraries})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
install(TARGETS berth ${engine_libraries} EXPORT berth-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT berth-targets NAMESPACE berth:: DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/berth DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET berth_program)
  install(TARGETS berth_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/berth-config.cmake.in
                              ${PROJECT_BINARY_DIR}/generated/berth-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/berth-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/berth-config.cmake ${PROJECT_BINARY_DIR}/generated/berth-config-version.cmake
        DESTINATION ${package_dir})
