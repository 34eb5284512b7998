# find_package(hrx_trace) gives hrx_trace::hrx_trace, the shared library, and hrx_trace::static.
get_filename_component(_hrx_trace_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET hrx_trace::hrx_trace)
  add_library(hrx_trace::hrx_trace SHARED IMPORTED)
  set_target_properties(hrx_trace::hrx_trace PROPERTIES
    IMPORTED_LOCATION "${_hrx_trace_prefix}/lib/libhrx_trace.so"
    IMPORTED_SONAME "libhrx_trace.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${_hrx_trace_prefix}/include")
  add_library(hrx_trace::static STATIC IMPORTED)
  set_target_properties(hrx_trace::static PROPERTIES
    IMPORTED_LOCATION "${_hrx_trace_prefix}/lib/libhrx_trace.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_hrx_trace_prefix}/include"
    INTERFACE_LINK_LIBRARIES "m;pthread;dl")
endif()

unset(_hrx_trace_prefix)
