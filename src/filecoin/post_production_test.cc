// The rows of WindowPoSt at 32 and 64 GiB against the reference: 125 and 130 million, hashed one by
// one.

#include <gtest/gtest.h>

#include "filecoin/post_golden_test_support.h"

namespace cuzk::filecoin {
namespace {

TEST(PostProductionCircuit, WindowRowsOf32GiBAreTheReferences) {
  testing::expect_reference_post_rows(testing::post_shape_of(PostKind::kWindow, "32GiB"),
                                      "post_blank/window_post_32gib.circuit.json");
}
TEST(PostProductionCircuit, WindowRowsOf64GiBAreTheReferences) {
  testing::expect_reference_post_rows(testing::post_shape_of(PostKind::kWindow, "64GiB"),
                                      "post_blank/window_post_64gib.circuit.json");
}

}  // namespace
}  // namespace cuzk::filecoin
