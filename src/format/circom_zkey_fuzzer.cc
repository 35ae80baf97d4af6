// Proving keys of snarkjs: whatever parses is read to the end, within a small budget.

#include "format/zkey.h"

namespace {

template <class Curve>
void read_everything(const cuzk::groth16::Context& context, const cuzk::format::ZkeyFile& file) {
  (void)file.verifying_key<Curve>(cuzk::PointCheck::kFormOnly);
  (void)file.check_points<Curve>(context);
  const auto key = file.load<Curve>(context);
  if (!key) return;
  (void)key->proving.h_query.points(context);
  (void)key->proving.l_query.points(context);
  (void)key->proving.a_query.points(context);
  (void)key->proving.b_g1_query.points(context);
  (void)key->proving.b_g2_query.points(context);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuzk;
  static Tasks tasks(1);
  MemoryBudget memory(std::size_t{16} << 20);
  Timeline timeline;
  const auto file = format::ZkeyFile::parse(format::InputBytes::borrow({data, size}, "fuzz"));
  if (!file) return 0;
  (void)file->contributions();
  (void)file->h_is_all_identity();
  const auto header = file->header();
  if (!header) return 0;
  const groth16::Context context{tasks, memory, timeline};
  circom::with_curve(header->curve, [&]<class Curve>() { read_everything<Curve>(context, *file); });
  return 0;
}
