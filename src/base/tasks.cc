#include "base/tasks.h"

#include <sched.h>

#include <algorithm>

namespace cuzk {

namespace {
int usable_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}
}  // namespace

Tasks::Tasks(int threads, std::stop_token stop)
    : threads_(threads > 0 ? threads : usable_cpus()), stop_(std::move(stop)), arena_(threads_) {}

}  // namespace cuzk
