# tenonKernel.cmake: kernels as targets of a user's project. find_package(tenon) includes it.
#
#   tenon_add_kernel(TARGET
#                    PROGRAM text-or-file        the tensor expressions
#                    [LOG log | SCHEDULE s]      the best checked record of a tuning log, which must be there or made
#                                                by a command of the project, or a schedule's text or file;
#                                                neither: the default schedule
#                    [STRICT]                    fail when LOG has no record of this program and target, instead of
#                                                warning and building the default schedule
#                    [NAME function]             the C function's name; TARGET
#                    [TARGET spec]               the machine, as `tenon target` shows it; this one
#                    [PARAMS N=64 ...])          values of the program's params
#
# makes a static library of one function, compiled when the program, the log or the schedule change. Who links TARGET can
# include <function.h>, and gets libm and libgomp. When TARGET is there already, the kernel becomes a part of it.
include_guard(GLOBAL)

# Sets VARIABLE to the path of VALUE, a file's name or a text; a text goes to FILE, written only when it changes.
function(_tenon_file variable value file suffix)
  cmake_path(ABSOLUTE_PATH value BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE path)
  if(NOT EXISTS "${path}" OR IS_DIRECTORY "${path}")
    if(value MATCHES "\\${suffix}$")
      message(FATAL_ERROR "tenon_add_kernel: there is no file ${value}")
    endif()
    set(path ${file})
    set(old "")
    if(EXISTS ${path})
      file(READ ${path} old)
    endif()
    if(NOT old STREQUAL "${value}\n")
      file(WRITE ${path} "${value}\n")
    endif()
  endif()
  set(${variable} ${path} PARENT_SCOPE)
endfunction()

function(_tenon_check target)
  if(KERNEL_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_kernel(${target}): unknown argument ${KERNEL_UNPARSED_ARGUMENTS}")
  elseif(NOT KERNEL_PROGRAM)
    message(FATAL_ERROR "tenon_add_kernel(${target}): PROGRAM is missing: a file or the program's text")
  elseif(KERNEL_LOG AND KERNEL_SCHEDULE)
    message(FATAL_ERROR "tenon_add_kernel(${target}): give either LOG or SCHEDULE")
  elseif(KERNEL_STRICT AND NOT KERNEL_LOG)
    message(FATAL_ERROR "tenon_add_kernel(${target}): STRICT is about the records of LOG")
  endif()
endfunction()

function(tenon_add_kernel target)
  cmake_parse_arguments(PARSE_ARGV 1 KERNEL "STRICT" "PROGRAM;LOG;SCHEDULE;NAME;TARGET" "PARAMS")
  _tenon_check(${target})
  if(NOT KERNEL_NAME)
    set(KERNEL_NAME ${target})
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/tenon/${target})
  set(kernel ${folder}/${KERNEL_NAME})
  file(MAKE_DIRECTORY ${folder})
  _tenon_file(program "${KERNEL_PROGRAM}" ${kernel}.te .te)
  set(depends ${program} ${tenon_COMMAND})
  set(options "")
  if(KERNEL_LOG)
    cmake_path(ABSOLUTE_PATH KERNEL_LOG BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    get_source_file_property(is_made ${KERNEL_LOG} GENERATED)
    if(NOT EXISTS ${KERNEL_LOG} AND NOT is_made)
      message(FATAL_ERROR "tenon_add_kernel(${target}): there is no log ${KERNEL_LOG}: make it with "
        "`tenon tune PROGRAM --log ${KERNEL_LOG}`, or leave LOG out for the default schedule")
    endif()
    list(APPEND depends ${KERNEL_LOG})
    list(APPEND options --log ${KERNEL_LOG})
  else()
    _tenon_file(schedule "${KERNEL_SCHEDULE}" ${kernel}.schedule .schedule)
    list(APPEND depends ${schedule})
    list(APPEND options --schedule ${schedule})
  endif()
  if(KERNEL_STRICT)
    list(APPEND options --strict)
  endif()
  if(KERNEL_TARGET)
    list(APPEND options --target ${KERNEL_TARGET})
  endif()
  foreach(param IN LISTS KERNEL_PARAMS)
    list(APPEND options --param ${param})
  endforeach()
  add_custom_command(OUTPUT ${kernel}.o ${kernel}.h DEPENDS ${depends} VERBATIM
    COMMAND ${tenon_COMMAND} build ${program} ${options} --name ${KERNEL_NAME} -o ${kernel}.o --header ${kernel}.h
    COMMENT "Building the kernel ${KERNEL_NAME}")
  set_source_files_properties(${kernel}.o PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  if(NOT TARGET ${target})
    add_library(${target} STATIC)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C POSITION_INDEPENDENT_CODE ON)
  endif()
  target_sources(${target} PRIVATE ${kernel}.o ${kernel}.h)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${folder}>)
  target_link_libraries(${target} PUBLIC gomp m)
endfunction()
