# Compiles for FLITWATCH_TARGET, such as x86_64-linux-gnu.2.28, by the zig that `make dist` installs: its headers are those of that C library, and its libc++ is linked in.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{FLITWATCH_PROCESSOR})
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_CROSSCOMPILING TRUE)
else()
  set(CMAKE_CROSSCOMPILING FALSE)
endif()
set(CMAKE_CXX_COMPILER $ENV{FLITWATCH_ZIG}/c++)
# nanobind prints to stderr, and Python's headers include <stdio.h> only outside the stable ABI.
set(CMAKE_CXX_FLAGS_INIT "-target $ENV{FLITWATCH_TARGET} -include cstdio")
set(CMAKE_AR $ENV{FLITWATCH_ZIG}/ar)
set(CMAKE_RANLIB $ENV{FLITWATCH_ZIG}/ranlib)
