# The client as a package: headers, one static library, find_package(Arion) with arion::client.
#   cmake --install BUILD --prefix PREFIX --component client
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# One archive of the folders the client stands on, so that users name one library. Linked from it is only what is used.
set(objects)
foreach(folder base messages env posix rpc client)
  list(APPEND objects $<TARGET_OBJECTS:arion_${folder}>)
endforeach()
add_library(arion_client_package STATIC ${objects})
set_target_properties(arion_client_package PROPERTIES OUTPUT_NAME arion_client EXPORT_NAME client LINKER_LANGUAGE CXX
                      ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/package)
target_include_directories(arion_client_package INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(arion_client_package INTERFACE cxx_std_20)
target_link_libraries(arion_client_package INTERFACE
  absl::status absl::statusor absl::strings absl::str_format absl::time absl::flat_hash_map absl::any_invocable absl::span
  absl::synchronization Threads::Threads thrift glog uring)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Arion)
install(TARGETS arion_client_package EXPORT ArionTargets COMPONENT client ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/arion COMPONENT client DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(EXPORT ArionTargets COMPONENT client NAMESPACE arion:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ArionConfig.cmake.in ${CMAKE_BINARY_DIR}/package/ArionConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/ArionConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/ArionConfig.cmake ${CMAKE_BINARY_DIR}/package/ArionConfigVersion.cmake
        COMPONENT client DESTINATION ${package_dir})
