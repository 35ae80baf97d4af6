#include "format/json_document.h"

namespace cuzk::format {

Result<simdjson::dom::element> parse_json(simdjson::dom::parser& parser, std::string_view json,
                                          std::string_view what) {
  simdjson::dom::element root;
  // simdjson copies the text with memcpy, which takes no null pointer, even for no bytes.
  const char* const text = json.empty() ? "" : json.data();
  if (const auto error = parser.parse(text, json.size()).get(root)) {
    return fail(ErrorCode::kCorruptInput, "{}{}not valid JSON: {}", what, what.empty() ? "" : ": ",
                simdjson::error_message(error));
  }
  return root;
}

Result<simdjson::dom::element> parse_json(simdjson::dom::parser& parser, ByteSpan json,
                                          std::string_view what) {
  return parse_json(
      parser, std::string_view(reinterpret_cast<const char*>(json.data()), json.size()), what);
}

}  // namespace cuzk::format
