#pragma once
// Files of data/ that are compiled in.

#include <string_view>

namespace cuzk::engine {

// parameters.json of the Filecoin ceremony, version 28.
std::string_view published_parameters_json();

}  // namespace cuzk::engine
