// Catch2's main in an object of its own: it takes a minute to compile under Emscripten.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
