// cuzk verify winning-post | window-post

#include <memory>

#include "cli/post_options.h"
#include "cli/verify_command.h"

namespace cuzk::cli {

namespace {

using filecoin::PostKind;

struct VerifyPostOptions {
  VerifyOptions shared;
  PostOptions post;
};

Result<engine::Statement> statement_of(const PostOptions& options) {
  CUZK_TRY(const engine::PostClaim claim, options.claim());
  if (!claim.sectors) return fail(ErrorCode::kInvalidArgument, "--sectors is missing");
  CUZK_TRY(const auto statement,
           filecoin::PostStatement::make(claim.proof, claim.randomness, claim.sectors.value()));
  return engine::post_statement(statement, claim.partitions);
}

void add_kind_of_post(CLI::App& verify, Runner& run, PostKind kind) {
  const bool winning = kind == PostKind::kWinning;
  CLI::App* post =
      verify.add_subcommand(winning ? "winning-post" : "window-post",
                            winning ? "A WinningPoSt proof against its statement"
                                    : "A WindowPoSt proof of one or several partitions against its "
                                      "statement");
  auto o = std::make_shared<VerifyPostOptions>();
  o->post.kind = kind;
  o->post.add(*post, true);
  o->shared.add(*post);
  post->callback([o, &run] {
    run = [o] {
      return run_verify(o->shared, [&](const engine::Context&) { return statement_of(o->post); });
    };
  });
}

}  // namespace

void add_verify_post(CLI::App& verify, Runner& run) {
  add_kind_of_post(verify, run, PostKind::kWinning);
  add_kind_of_post(verify, run, PostKind::kWindow);
}

}  // namespace cuzk::cli
