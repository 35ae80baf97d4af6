// Witnesses of circom: whatever is read as a witness is written as the same values.

#include <algorithm>

#include "base/check.h"
#include "format/wtns.h"

namespace {

template <class Fr>
void read_everything(cuzk::Tasks& tasks, const cuzk::format::WtnsFile& file) {
  const auto witness = file.to_witness<Fr>(tasks, file.num_values() / 3);
  if (!witness) return;
  std::vector<Fr> values = witness->inputs;
  for (std::size_t i = 0; i < witness->num_aux(); ++i) values.push_back(witness->aux(i));
  const auto bytes = cuzk::format::encode_wtns<Fr>(std::span<const Fr>(values));
  CUZK_CHECK(std::equal(file.values().rbegin(), file.values().rend(), bytes.rbegin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuzk;
  static Tasks tasks(1);
  const auto file = format::WtnsFile::parse(format::InputBytes::borrow({data, size}, "fuzz"));
  if (!file) return 0;
  circom::with_curve(file->curve(),
                     [&]<class Curve>() { read_everything<typename Curve::Fr>(tasks, *file); });
  return 0;
}
