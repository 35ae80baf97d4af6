#include "format/parameters_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"

namespace cuzk::format {

const ParameterFile* ParameterList::find(std::string_view name) const {
  const auto it = std::find_if(files.begin(), files.end(),
                               [&](const ParameterFile& f) { return f.name == name; });
  return it == files.end() ? nullptr : &*it;
}

namespace {

Result<ParameterFile> parse_entry(const std::string& name, const nlohmann::ordered_json& entry) {
  ParameterFile file;
  file.name = name;
  if (!entry.is_object() || !entry.contains("cid") || !entry.contains("digest") ||
      !entry.contains("sector_size") || entry.size() != 3) {
    return fail(ErrorCode::kCorruptInput, "expected an object of cid, digest and sector_size");
  }
  if (!entry["cid"].is_string() || !entry["digest"].is_string()) {
    return fail(ErrorCode::kCorruptInput, "cid and digest must be strings");
  }
  file.cid = entry["cid"].get<std::string>();
  file.digest = entry["digest"].get<std::string>();
  if (file.digest.size() != 32 || !from_hex(file.digest)) {
    return fail(ErrorCode::kCorruptInput, "digest: expected 32 hexadecimal digits, found '{}'",
                file.digest.substr(0, 64));
  }
  if (!entry["sector_size"].is_number_unsigned()) {
    return fail(ErrorCode::kCorruptInput, "sector_size must be a whole number");
  }
  file.sector_bytes = entry["sector_size"].get<std::uint64_t>();
  return file;
}

}  // namespace

Result<ParameterList> parse_parameter_list(std::string_view text, std::string_view what) {
  const auto json = nlohmann::ordered_json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) {
    return fail(ErrorCode::kCorruptInput, "{}: expected a JSON object of file names", what);
  }
  ParameterList list;
  for (const auto& [name, entry] : json.items()) {
    auto file = parse_entry(name, entry);
    if (!file) return fail(file.error().in(fmt::format("{}: {}", what, name)));
    list.files.push_back(std::move(*file));
  }
  return list;
}

}  // namespace cuzk::format
