#include "format/base64.h"

#include <sodium.h>

#include <algorithm>

#include "format/json_document.h"

namespace cuzk::format {

namespace dom = simdjson::dom;

Result<std::vector<std::uint8_t>> decode_base64(std::string_view text) {
  std::vector<std::uint8_t> out(text.size() / 4 * 3 + 3);
  std::size_t size = 0;
  const char* end = nullptr;
  if (sodium_base642bin(out.data(), out.size(), text.data(), text.size(), nullptr, &size, &end,
                        sodium_base64_VARIANT_ORIGINAL) != 0 ||
      end != text.data() + text.size()) {
    return fail(ErrorCode::kCorruptInput, "not padded base64 from character {} on",
                end ? end - text.data() : 0);
  }
  out.resize(size);
  return out;
}

std::string encode_base64(ByteSpan bytes) {
  std::string out(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(out.data(), out.size(), bytes.data(), bytes.size(),
                    sodium_base64_VARIANT_ORIGINAL);
  out.pop_back();  // the terminating zero
  return out;
}

bool looks_like_json_array(ByteSpan bytes) {
  const ByteSpan head = bytes.first(std::min<std::size_t>(bytes.size(), 8));
  if (std::find(head.begin(), head.end(), 0) != head.end()) return false;
  const auto first = std::find_if(bytes.begin(), bytes.end(), [](std::uint8_t c) {
    return c != ' ' && c != '\t' && c != '\r' && c != '\n';
  });
  return first != bytes.end() && *first == '[';
}

Result<std::vector<std::vector<std::uint8_t>>> parse_base64_array(ByteSpan bytes,
                                                                  std::string_view what) {
  dom::parser parser;
  CUZK_TRY(const dom::element root, parse_json(parser, bytes, what));
  dom::array array;
  if (root.get(array)) {
    return fail(ErrorCode::kCorruptInput, "{}: a JSON array of base64 strings is expected", what);
  }
  std::vector<std::vector<std::uint8_t>> out;
  for (const dom::element item : array) {
    std::string_view text;
    if (item.get(text)) {
      return fail(ErrorCode::kCorruptInput, "{}: item {} of the array is not a string", what,
                  out.size());
    }
    auto decoded = decode_base64(text);
    if (!decoded) {
      return fail(decoded.error().in(fmt::format("{}: item {} of the array", what, out.size())));
    }
    out.push_back(std::move(*decoded));
  }
  return out;
}

std::string write_base64_array(const std::vector<std::vector<std::uint8_t>>& items) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += '"' + encode_base64(item) + '"';
  }
  return out + ']';
}

}  // namespace cuzk::format
