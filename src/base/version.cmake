# Version and commit of the build, for version.cc. Taken when CMake configures; tools/onebox and tools/test always do.
set(ARION_COMMIT unknown)
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} describe --always --dirty=+ --exclude=*
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(ARION_COMMIT ${described})
  endif()
endif()
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/base/version.cc PROPERTIES COMPILE_DEFINITIONS
                            "ARION_VERSION=\"${PROJECT_VERSION}\";ARION_COMMIT=\"${ARION_COMMIT}\"")
