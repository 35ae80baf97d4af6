#include "format/parameters_json.h"

#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "format/json_document.h"

namespace cuzk::format {

namespace {

namespace dom = simdjson::dom;

Result<std::string> text_field(dom::object entry, const char* key) {
  std::string_view value;
  if (entry[key].get(value)) {
    return fail(ErrorCode::kCorruptInput, "{}: expected a string", key);
  }
  return std::string(value);
}

Result<ParameterFile> parse_entry(std::string_view name, dom::element value) {
  dom::object entry;
  // Three keys, of which each of three is found below: none stands twice, none is unknown.
  if (value.get(entry) || entry.size() != 3) {
    return fail(ErrorCode::kCorruptInput, "expected an object of cid, digest and sector_size");
  }
  ParameterFile file;
  file.name = name;
  CUZK_TRY(file.cid, text_field(entry, "cid"));
  CUZK_TRY(file.digest, text_field(entry, "digest"));
  if (file.digest.size() != 32 || !from_hex(file.digest)) {
    return fail(ErrorCode::kCorruptInput, "digest: expected 32 hexadecimal digits, found \"{}\"",
                file.digest.substr(0, 64));
  }
  if (entry["sector_size"].get(file.sector_bytes)) {
    return fail(ErrorCode::kCorruptInput, "sector_size: expected a whole number");
  }
  return file;
}

}  // namespace

const ParameterFile* ParameterList::find(std::string_view name) const {
  const auto it = std::find_if(files.begin(), files.end(),
                               [&](const ParameterFile& f) { return f.name == name; });
  return it == files.end() ? nullptr : &*it;
}

Result<ParameterList> parse_parameter_list(std::string_view text, std::string_view what) {
  dom::parser parser;
  CUZK_TRY(const dom::element root, parse_json(parser, text, what));
  dom::object entries;
  if (root.get(entries)) {
    return fail(ErrorCode::kCorruptInput, "{}: expected a JSON object of file names", what);
  }
  ParameterList list;
  std::set<std::string_view> seen;
  for (const auto& [name, value] : entries) {
    if (!seen.insert(name).second) {
      return fail(ErrorCode::kCorruptInput, "{}: {} stands twice", what, name);
    }
    auto file = parse_entry(name, value);
    if (!file) return fail(file.error().in(fmt::format("{}: {}", what, name)));
    list.files.push_back(std::move(*file));
  }
  return list;
}

}  // namespace cuzk::format
