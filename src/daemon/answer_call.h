#pragma once
// Calls that end with a job's answer, whatever their response is made of: they wait without a
// thread and end once, with the answer, an error, a timeout, or because their client left.
//
// Threads: an AnswerReactor deletes itself when its call is done.

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "daemon/grpc_call.h"

namespace cuzk::daemon {

// Set to "1" beside a proof that was made under a key with which anyone can forge proofs.
inline constexpr const char* kInsecureMetadata = "cuzk-insecure-dev";

// How an answer, or the lack of one, looks in a response.
template <class Response>
struct AnswerForm {
  void (*fill)(Response&, const engine::Answer&) = nullptr;
  void (*time_out)(Response&) = nullptr;
};

// Whoever comes first claims the call; only then may the reactor and its response be touched, and
// they live until Finish is called.
struct PendingCall {
  std::atomic<bool> claimed{false};
  bool claim() { return !claimed.exchange(true); }

  std::mutex mutex;
  bool done = false;
  std::string job_id;  // once submitted
  std::shared_ptr<engine::Service::Watch> watch;
};

template <class Response>
class AnswerReactor : public grpc::ServerUnaryReactor {
 public:
  AnswerReactor(const RpcContext& context, grpc::CallbackServerContext& call, Response& response,
                AnswerForm<Response> form, bool cancels_with_client)
      : context_(context),
        call_(call),
        response_(response),
        form_(form),
        cancels_with_client_(cancels_with_client),
        pending_(std::make_shared<PendingCall>()) {}

  std::shared_ptr<PendingCall> pending() const { return pending_; }

  // Claimed calls only.
  void answer(const engine::Answer& answer, const std::string& job_id) {
    response_.set_job_id(job_id);
    form_.fill(response_, answer);
    if (answer.insecure_dev) call_.AddTrailingMetadata(kInsecureMetadata, "1");
    Finish(grpc::Status::OK);
  }
  // After 0: never.
  void time_out_after(std::uint64_t timeout_ms, const std::string& job_id) {
    if (timeout_ms == 0) return;
    constexpr std::uint64_t kLongest = 1000ULL * 3600 * 24 * 365;
    const auto deadline = std::chrono::system_clock::now() +
                          std::chrono::milliseconds(std::min(timeout_ms, kLongest));
    alarm_.Set(deadline, [this, job_id, pending = pending_](bool expired) {
      if (!expired || !pending->claim()) return;
      response_.set_job_id(job_id);
      form_.time_out(response_);
      Finish(grpc::Status::OK);
    });
  }

  void OnCancel() override {
    if (!pending_->claim()) return;
    std::string job_id;
    {
      const std::lock_guard lock(pending_->mutex);
      job_id = pending_->job_id;
    }
    if (cancels_with_client_ && !job_id.empty()) (void)context_.service.cancel(job_id);
    Finish(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    std::shared_ptr<engine::Service::Watch> watch;
    {
      const std::lock_guard lock(pending_->mutex);
      pending_->done = true;
      watch = std::move(pending_->watch);
    }
    // The end of a watch waits for its callback, which may be what brought us here.
    if (watch) context_.submissions.post([watch]() mutable { watch.reset(); });
    delete this;
  }

 private:
  const RpcContext& context_;
  grpc::CallbackServerContext& call_;
  Response& response_;
  const AnswerForm<Response> form_;
  const bool cancels_with_client_;
  const std::shared_ptr<PendingCall> pending_;
  grpc::Alarm alarm_;
};

// Lets the answer of a run end the call.
template <class Response>
void watch_run(const RpcContext& context, AnswerReactor<Response>* reactor,
               const std::shared_ptr<PendingCall>& pending, const std::string& job_id,
               std::uint64_t run) {
  auto watch =
      context.service.watch(job_id, run, [reactor, pending, job_id](const engine::Answer& answer) {
        if (pending->claim()) reactor->answer(answer, job_id);
      });
  if (!watch) {
    if (pending->claim()) reactor->Finish(status_of(watch.error()));
    return;
  }
  std::shared_ptr<engine::Service::Watch> held = std::move(*watch);
  const std::lock_guard lock(pending->mutex);
  if (!pending->done) pending->watch.swap(held);
}

// Lets the answer to an id's latest run end the call. A finished one first: it may be older than
// this process and known to the journal alone.
template <class Response>
void await_answer(const RpcContext& context, AnswerReactor<Response>* reactor,
                  const std::shared_ptr<PendingCall>& pending, const std::string& id) {
  // Looked for twice: between the two it may have finished and been pushed out of the recent ones.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto answer = context.service.await(id, std::chrono::steady_clock::now());
    if (!answer) break;
    if (*answer) {
      if (pending->claim()) reactor->answer(**answer, id);
      return;
    }
    if (const auto job = context.service.job(id)) {
      return watch_run(context, reactor, pending, id, job->run);
    }
  }
  if (pending->claim()) {
    reactor->Finish({grpc::StatusCode::NOT_FOUND, fmt::format("job not found: {}", id)});
  }
}

// A call that waits for the answer to an id's latest run.
template <class Response>
grpc::ServerUnaryReactor* await_call(const RpcContext& context, grpc::CallbackServerContext& call,
                                     Response& response, AnswerForm<Response> form,
                                     const std::string& id, std::uint64_t timeout_ms) {
  auto* reactor = new AnswerReactor(context, call, response, form, false);
  const auto pending = reactor->pending();
  reactor->time_out_after(timeout_ms, id);
  context.submissions.post(
      [&context, reactor, pending, id] { await_answer(context, reactor, pending, id); });
  return reactor;
}

// Submits on a thread of the pool, and lets the answer end the call.
template <class Response>
void submit_and_await(const RpcContext& context, AnswerReactor<Response>* reactor,
                      engine::ProofRequest request) {
  auto held = std::make_shared<engine::ProofRequest>(std::move(request));
  context.submissions.post([&context, reactor, held, pending = reactor->pending()] {
    const std::string id = held->request_id;
    const auto submitted = context.service.submit(std::move(*held));
    if (!submitted) {
      const grpc::Status status = refused(context, submitted.error(), id);
      if (pending->claim()) reactor->Finish(status);
      return;
    }
    {
      const std::lock_guard lock(pending->mutex);
      pending->job_id = submitted->job_id;
    }
    watch_run(context, reactor, pending, submitted->job_id, submitted->run);
  });
}

}  // namespace cuzk::daemon
