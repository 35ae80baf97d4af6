#pragma once
// Structured parallel work over oneTBB: every call joins before it returns, nothing is detached.
//
// Threads: a Tasks may be shared; calls from several threads share its worker threads.

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>

namespace cuzk {

class Tasks {
 public:
  // threads 0: one for each CPU this process may run on.
  explicit Tasks(int threads = 0, std::stop_token stop = {});

  int threads() const { return threads_; }
  bool stop_requested() const { return stop_.stop_requested(); }

  // Calls fn(begin, end) over disjoint ranges that cover [0, count), each of at least `grain` items
  // where count allows. Exceptions of fn come out of here. Ranges not yet begun when stop is
  // requested are skipped: the caller looks at stop_requested() afterwards.
  template <class F>
  void parallel_for(std::size_t count, std::size_t grain, F&& fn) {
    if (count == 0) return;
    arena_.execute([&] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, grain ? grain : 1),
                        [&](const tbb::blocked_range<std::size_t>& r) {
                          if (!stop_.stop_requested()) fn(r.begin(), r.end());
                        });
    });
  }

  // Runs both, possibly at once, and returns when both have ended.
  template <class F, class G>
  void invoke(F&& f, G&& g) {
    arena_.execute([&] { tbb::parallel_invoke(std::forward<F>(f), std::forward<G>(g)); });
  }

 private:
  int threads_;
  std::stop_token stop_;
  tbb::task_arena arena_;
};

}  // namespace cuzk
