#pragma once
// A JSON text as simdjson's tree.
//
// Errors:  kCorruptInput: "<what>: not valid JSON: <why>", without "<what>: " where it is empty. An
//          empty text is an error like any other.
// Threads: a parser is one thread's; the tree lives as long as the parser and until its next text.

#include <simdjson.h>

#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace cuzk::format {

Result<simdjson::dom::element> parse_json(simdjson::dom::parser& parser, std::string_view json,
                                          std::string_view what);
Result<simdjson::dom::element> parse_json(simdjson::dom::parser& parser, ByteSpan json,
                                          std::string_view what);

}  // namespace cuzk::format
