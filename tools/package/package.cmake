# The Debian package: cpack -G DEB --config BUILD/CPackConfig.cmake. README.md here says what it holds.
install(TARGETS arion_meta_bin arion_replica_bin arion_shell_bin arion_log_bin arion_load_bin COMPONENT server RUNTIME DESTINATION bin)
set(package ${CMAKE_SOURCE_DIR}/tools/package)
install(DIRECTORY ${package}/systemd/ COMPONENT server DESTINATION lib/systemd/system)
install(FILES ${package}/logrotate/arion COMPONENT server DESTINATION /etc/logrotate.d)
install(DIRECTORY ${package}/onebox COMPONENT server DESTINATION share/arion)
install(DIRECTORY ${package}/examples COMPONENT server DESTINATION share/doc/arion)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tools/monitoring COMPONENT server DESTINATION share/arion)
install(FILES ${CMAKE_SOURCE_DIR}/thirdparty/sbom.cdx.json COMPONENT server DESTINATION share/doc/arion)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE COMPONENT server DESTINATION share/doc/arion RENAME copyright)

# One page a program, made from its --help.
find_program(HELP2MAN_PROGRAM help2man)
if(HELP2MAN_PROGRAM)
  set(pages)
  foreach(program arion_meta arion_replica arion_shell arion_log arion_load)
    set(page ${CMAKE_BINARY_DIR}/man/${program}.1)
    add_custom_command(OUTPUT ${page}.gz DEPENDS ${program}_bin
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
      COMMAND ${HELP2MAN_PROGRAM} --no-info --no-discard-stderr --version-string=${PROJECT_VERSION} --output=${page}
              $<TARGET_FILE:${program}_bin>
      COMMAND gzip -9nf ${page})
    list(APPEND pages ${page}.gz)
  endforeach()
  add_custom_target(manual_pages DEPENDS ${pages})
  install(FILES ${pages} COMPONENT server DESTINATION share/man/man1 OPTIONAL)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME arion)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Arion maintainers <maintainers@arion.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "replicated, durable key-value store that Apache Pegasus' clients work with")
set(CPACK_COMPONENTS_ALL server)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME arion)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA "${package}/conffiles;${package}/postinst;${package}/prerm;${package}/postrm")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
