# packages.cmake: the components as Debian packages, by CPack: `make deb`. libtenon0 has the libraries, libtenon-dev what a
# C program is compiled with, tenon the command, python3-tenon the Python package.
# Whoever packs them, by the environment of Debian's own tools; `make deb` asks for it.
set(TENON_MAINTAINER "" CACHE STRING "Whom the packages name: NAME <ADDRESS>")
if(NOT TENON_MAINTAINER AND DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(TENON_MAINTAINER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tenon)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${TENON_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL library development command python)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(tenon_exact "libtenon${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}-1)")
set(tenon_about "Tensor expressions are scheduled, lowered to loops, compiled with LLVM, and
tuned by measuring candidates under a learned cost model.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtenon${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "tensor-expression loop-schedule compiler, libraries\n${tenon_about}
.
This package has the shared libraries.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
# Written here: CPack's own call ldconfig in scripts, where Debian has a trigger.
file(WRITE ${CMAKE_BINARY_DIR}/papers/triggers "activate-noawait ldconfig\n")
set(tenon_shlibs "")
foreach(library tenon tenon_profile tenon_profiler)
  string(APPEND tenon_shlibs "lib${library} ${PROJECT_VERSION_MAJOR} libtenon${PROJECT_VERSION_MAJOR} (>= ${PROJECT_VERSION})\n")
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/papers/shlibs "${tenon_shlibs}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/papers/triggers ${CMAKE_BINARY_DIR}/papers/shlibs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "libxgboost0")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtenon-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "tensor-expression loop-schedule compiler, for C and C++ programs\n${tenon_about}
.
This package has headers, static libraries, and what CMake and pkg-config read.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${tenon_exact}, libdlpack-dev, libc6-dev")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME tenon)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "tensor-expression loop-schedule compiler, command\n${tenon_about}
.
This package has the command, its manual pages and completions.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "libxgboost0, gcc")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-tenon)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "tensor-expression loop-schedule compiler, Python package\n${tenon_about}
.
This package has the Python package, with the words of TVM's te and
auto_scheduler.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "libtenon${PROJECT_VERSION_MAJOR} (>= ${PROJECT_VERSION}), python3 (>= 3.11), python3-numpy")

# What Debian wants of every package: a copyright file and a changelog.
set(tenon_papers ${CMAKE_BINARY_DIR}/papers)
file(WRITE ${tenon_papers}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Tenon

Files: *
Copyright: 2026 Tenon developers
License: Apache-2.0
 On Debian systems the whole text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
")
string(TIMESTAMP tenon_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${tenon_papers}/changelog.Debian "tenon (${PROJECT_VERSION}-1) unstable; urgency=medium

  * See /usr/share/doc/tenon/changelog.gz of the package tenon.

 -- ${CPACK_PACKAGE_CONTACT}  ${tenon_date}
")
configure_file(${CMAKE_SOURCE_DIR}/CHANGELOG.md ${tenon_papers}/changelog COPYONLY)
add_custom_command(OUTPUT ${tenon_papers}/changelog.Debian.gz ${tenon_papers}/changelog.gz VERBATIM
  COMMAND ${TENON_GZIP} -9nfk ${tenon_papers}/changelog.Debian ${tenon_papers}/changelog
  DEPENDS ${tenon_papers}/changelog.Debian ${CMAKE_SOURCE_DIR}/CHANGELOG.md)
add_custom_target(tenon_papers ALL DEPENDS ${tenon_papers}/changelog.Debian.gz)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  install(FILES ${tenon_papers}/copyright ${tenon_papers}/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME} COMPONENT ${component})
endforeach()
install(FILES ${tenon_papers}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tenon COMPONENT command)
include(CPack)
