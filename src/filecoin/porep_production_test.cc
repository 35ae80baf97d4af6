// The rows of the production shapes against the reference: 130 million each, hashed one by
// one; and their witnesses.

#include "filecoin/porep_golden_test_support.h"

namespace cuzk::filecoin {
namespace {

TEST(PorepProductionCircuit, RowsOf32GiBAreTheReferences) {
  testing::expect_reference_rows("32GiB");
}
TEST(PorepProductionCircuit, RowsOf64GiBAreTheReferences) {
  testing::expect_reference_rows("64GiB");
}

TEST(PorepProductionCircuit, WitnessesOfSparseSectorsSatisfyTheRows) {
  Tasks tasks;
  testing::expect_sparse_sector_satisfies(tasks, "32GiB");
  testing::expect_sparse_sector_satisfies(tasks, "64GiB");
}

}  // namespace
}  // namespace cuzk::filecoin
