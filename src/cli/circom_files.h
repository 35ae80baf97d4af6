#pragma once
// How the commands about circom's files read and write them: "-" is standard input or output.

#include <initializer_list>
#include <string>
#include <string_view>

#include "format/input_bytes.h"

namespace cuzk::cli {

// A file, mapped; or all of standard input, which may have at most `max_bytes`.
// Errors: kInvalidArgument for too much on standard input.
Result<format::InputBytes> read_input(const std::string& path, std::size_t max_bytes);

// Errors: kInvalidArgument when more than one of the paths is "-".
Status check_one_standard_stream(std::initializer_list<std::string_view> paths,
                                 std::string_view stream);

// A plain file appears when it is whole; anything else (standard output, a pipe, a device) is
// written straight away.
Status write_output(const std::string& path, std::string_view text);

}  // namespace cuzk::cli
