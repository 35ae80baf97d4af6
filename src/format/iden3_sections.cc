#include "format/iden3_sections.h"

#include <algorithm>

namespace cuzk::format {

namespace {

constexpr std::size_t kSectionHeadBytes = 12;

}  // namespace

std::string section_name(std::string_view what, std::uint32_t id, std::string_view name) {
  return fmt::format("{}: section {} ({})", what, id, name);
}

Result<Iden3Sections> Iden3Sections::parse(ByteSpan bytes, std::string_view what,
                                           std::string_view magic, std::uint32_t highest_version) {
  if (bytes.empty()) {
    return fail(ErrorCode::kCorruptInput, "{}: not a .{} file: it is empty", what, magic);
  }
  const ByteSpan head = bytes.first(std::min<std::size_t>(bytes.size(), 4));
  if (!std::equal(head.begin(), head.end(), magic.begin(), magic.end())) {
    return fail(ErrorCode::kCorruptInput,
                "{}: not a .{} file: it begins with the bytes {}, expected the letters \"{}\"",
                what, magic, to_hex(head), magic);
  }
  ByteReader reader(bytes, what);
  CUZK_TRY_VOID(reader.take(4, "magic"));
  Iden3Sections out;
  out.what_ = what;
  CUZK_TRY(out.version_, reader.u32_le("version"));
  if (out.version_ == 0 || out.version_ > highest_version) {
    return fail(ErrorCode::kCorruptInput, "{}: version {} of the .{} format, expected at most {}",
                what, out.version_, magic, highest_version);
  }
  CUZK_TRY(const std::uint32_t count, reader.u32_le("number of sections"));
  if (count > reader.remaining() / kSectionHeadBytes) {
    return fail(ErrorCode::kCorruptInput,
                "{}: sections: the file declares {} sections and has room for {}", what, count,
                reader.remaining() / kSectionHeadBytes);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    Section section;
    CUZK_TRY(section.id, reader.u32_le("section id"));
    CUZK_TRY(const std::uint64_t size, reader.u64_le("section size"));
    if (size > reader.remaining()) {
      return fail(ErrorCode::kCorruptInput,
                  "{}: section {} declares {} bytes, the file has {} left", what, section.id, size,
                  reader.remaining());
    }
    section.offset = reader.offset();
    section.size = static_cast<std::size_t>(size);
    CUZK_TRY_VOID(reader.take(section.size, "section"));
    out.sections_.push_back(section);
  }
  CUZK_TRY_VOID(reader.expect_end());
  return out;
}

bool Iden3Sections::has(std::uint32_t id) const {
  return std::ranges::any_of(sections_, [&](const Section& s) { return s.id == id; });
}

Result<Iden3Sections::Section> Iden3Sections::find(std::uint32_t id, std::string_view name) const {
  const Section* found = nullptr;
  for (const Section& section : sections_) {
    if (section.id != id) continue;
    if (found) {
      return fail(ErrorCode::kCorruptInput, "{} stands twice", section_name(what_, id, name));
    }
    found = &section;
  }
  if (!found) return fail(ErrorCode::kCorruptInput, "{} is missing", section_name(what_, id, name));
  return *found;
}

}  // namespace cuzk::format
