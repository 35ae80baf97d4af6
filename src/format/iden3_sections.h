#pragma once
// The container of .zkey, .wtns and .r1cs files: a magic, a version, sections with ids.
//
// Checks:  the whole file is indexed before a section is read: every size against the bytes that
// are
//          there, no bytes left over. The order of sections is free; unknown ids are kept and
//          ignored; a section that is asked for must be there once.
// Errors:  kCorruptInput.
// Threads: values.
// Source:  docs/formats/circom.md.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace cuzk::format {

class Iden3Sections {
 public:
  struct Section {
    std::uint32_t id = 0;
    std::size_t offset = 0;  // of the payload
    std::size_t size = 0;
  };

  // `magic` has four letters, which also name the kind of file in errors.
  static Result<Iden3Sections> parse(ByteSpan bytes, std::string_view what, std::string_view magic,
                                     std::uint32_t highest_version);

  std::uint32_t version() const { return version_; }
  const std::vector<Section>& all() const { return sections_; }
  bool has(std::uint32_t id) const;
  // `name` is what the section holds, for errors.
  Result<Section> find(std::uint32_t id, std::string_view name) const;
  const std::string& what() const { return what_; }

 private:
  std::string what_;
  std::uint32_t version_ = 0;
  std::vector<Section> sections_;
};

// "section 5 (A)" of a file, for errors.
std::string section_name(std::string_view what, std::uint32_t id, std::string_view name);

}  // namespace cuzk::format
