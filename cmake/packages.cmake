# packages.cmake: the components as Debian packages, by CPack: `make deb`. libtenon0 has the libraries, libtenon-dev what a
# C program is compiled with, tenon the command, python3-tenon the Python package.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tenon)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The founders of Tenon <tenon@localhost.invalid>")
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
set(tenon_about " Tensor expressions are scheduled, lowered to loops, compiled with LLVM, and
 tuned by measuring candidates under a learned cost model.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtenon${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "tensor-expression loop-schedule compiler, libraries\n${tenon_about}
 .
 This package has the shared libraries.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
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
 This package has the Python package, with the words of TVM's te and auto_scheduler.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "libtenon${PROJECT_VERSION_MAJOR} (>= ${PROJECT_VERSION}), python3 (>= 3.11), python3-numpy")

# What Debian wants of every package: a copyright file and a changelog.
set(tenon_papers ${CMAKE_BINARY_DIR}/papers)
file(WRITE ${tenon_papers}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Tenon

Files: *
Copyright: The founders of Tenon
License: Apache-2.0
 On Debian systems the whole text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
")
string(TIMESTAMP tenon_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${tenon_papers}/changelog.Debian "tenon (${PROJECT_VERSION}-1) unstable; urgency=medium

  * What changed is told in /usr/share/doc/tenon/CHANGELOG.md.gz of the package tenon.

 -- ${CPACK_PACKAGE_CONTACT}  ${tenon_date}
")
configure_file(${CMAKE_SOURCE_DIR}/CHANGELOG.md ${tenon_papers}/CHANGELOG.md COPYONLY)
find_program(TENON_GZIP gzip REQUIRED)
add_custom_command(OUTPUT ${tenon_papers}/changelog.Debian.gz ${tenon_papers}/CHANGELOG.md.gz VERBATIM
  COMMAND ${TENON_GZIP} -9nfk ${tenon_papers}/changelog.Debian ${tenon_papers}/CHANGELOG.md
  DEPENDS ${tenon_papers}/changelog.Debian ${CMAKE_SOURCE_DIR}/CHANGELOG.md)
add_custom_target(tenon_papers ALL DEPENDS ${tenon_papers}/changelog.Debian.gz)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  install(FILES ${tenon_papers}/copyright ${tenon_papers}/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME} COMPONENT ${component})
endforeach()
install(FILES ${tenon_papers}/CHANGELOG.md.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tenon COMPONENT command)
include(CPack)
