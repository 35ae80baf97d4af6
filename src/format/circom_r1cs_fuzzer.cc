// Circuits of circom and their symbols: whatever is read can be walked and described.

#include "base/check.h"
#include "format/r1cs_file.h"
#include "r1cs/validate.h"

namespace {

template <class Fr>
void read_everything(const cuzk::format::R1csFile& file) {
  static cuzk::Tasks tasks(1);
  cuzk::MemoryBudget memory(std::size_t{16} << 20);
  const auto program = file.load<Fr>(tasks, memory);
  if (!program) return;
  const cuzk::Status status = cuzk::validate_r1cs(program->r1cs);
  CUZK_CHECK(status.has_value());
  const cuzk::circom::Symbols symbols;
  for (std::uint32_t i = 0; i < program->header.num_constraints && i < 64; ++i) {
    CUZK_CHECK(!cuzk::circom::describe_constraint(*program, symbols, i).empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuzk;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto symbols = circom::Symbols::parse(text, "fuzz")) (void)symbols->name(7);
  const auto file = format::R1csFile::parse(format::InputBytes::borrow({data, size}, "fuzz"));
  if (!file) return 0;
  circom::with_curve(file->header().curve,
                     [&]<class Curve>() { read_everything<typename Curve::Fr>(*file); });
  return 0;
}
