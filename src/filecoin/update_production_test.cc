// The rows of the large update shapes against the reference: 57 to 85 million each, hashed one by
// one; and their witnesses.

#include "filecoin/update_golden_test_support.h"

namespace cuzk::filecoin {
namespace {

TEST(UpdateProductionCircuit, RowsOf512MiBAreTheReferences) {
  testing::expect_reference_update_rows("512MiB");
}
TEST(UpdateProductionCircuit, RowsOf32GiBAreTheReferences) {
  testing::expect_reference_update_rows("32GiB");
}
TEST(UpdateProductionCircuit, RowsOf64GiBAreTheReferences) {
  testing::expect_reference_update_rows("64GiB");
}

TEST(UpdateProductionCircuit, WitnessesOfRegionsSatisfyTheRows) {
  Tasks tasks;
  for (const char* size : {"512MiB", "32GiB", "64GiB"}) {
    testing::expect_region_update_satisfies(tasks, size, 10);
  }
}

}  // namespace
}  // namespace cuzk::filecoin
