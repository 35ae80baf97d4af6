#pragma once
// The files of web/, part of the program.
//
// Threads: constants.

#include <string_view>

namespace cuzk::daemon {

std::string_view status_page();  // web/index.html

}  // namespace cuzk::daemon
