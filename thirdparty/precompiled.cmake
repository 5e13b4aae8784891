# What nearly every source includes is parsed once: two thirds of what g++ does is these headers, at every file anew.
# A source still includes what it uses: a build with -DARION_PCH=OFF, as each one of clang's, finds what it forgot.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  option(ARION_PCH "Precompile the headers that nearly every source includes" ON)
endif()
set(PRECOMPILED_EVERYWHERE
    <algorithm> <array> <atomic> <chrono> <functional> <map> <memory> <mutex> <optional> <set> <string> <string_view> <utility>
    <vector> <absl/functional/any_invocable.h> <absl/status/statusor.h> <absl/strings/str_cat.h>
    <absl/strings/str_format.h> <absl/strings/str_join.h> <absl/strings/str_split.h> <absl/time/time.h>
    [["base/log.h"]])

# arion_precompiled(name [HEADERS header...] [LINK target...] [OPTIONS option...]): others take its headers by REUSE_FROM.
function(arion_precompiled name)
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK;OPTIONS" ${ARGN})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cc CONTENT "// Holds precompiled headers, nothing else.\n")
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cc)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE arion_thirdparty_base ${ARG_LINK})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${PRECOMPILED_EVERYWHERE} ${ARG_HEADERS})
endfunction()

# arion_use_precompiled(directory): every target of it and below that has none yet.
function(arion_use_precompiled directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(own ${target} PRECOMPILE_HEADERS)
    get_target_property(reused ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    if(type MATCHES "EXECUTABLE|STATIC_LIBRARY" AND NOT own AND NOT reused)
      target_precompile_headers(${target} REUSE_FROM arion_precompiled)
    endif()
  endforeach()
  get_property(folders DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(folder ${folders})
    arion_use_precompiled(${folder})
  endforeach()
endfunction()

if(ARION_PCH)
  # ccache asks for the first. What is inlined from precompiled headers loses their being the system's, and with it
  # the silence about g++ 12's false alarms in std::string.
  add_compile_options(-fpch-preprocess -Wno-array-bounds -Wno-stringop-overread -Wno-stringop-overflow -Wno-restrict)
  arion_precompiled(arion_precompiled)
  cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL arion_use_precompiled ${CMAKE_SOURCE_DIR})
endif()
