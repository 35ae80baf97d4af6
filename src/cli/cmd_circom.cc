// cuzk prove circom, cuzk verify circom

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/circom_command.h"
#include "cli/circom_files.h"
#include "cli/device_options.h"
#include "cli/session.h"
#include "cli/verify_command.h"
#include "engine/circom.h"

namespace cuzk::cli {

namespace {

constexpr std::size_t kMaxJsonBytes = std::size_t{1} << 30;

struct ProveCircomOptions {
  CommonOptions common;
  DeviceOptions device;
  std::string zkey, wtns, proof, public_signals, r1cs, sym;
  bool allow_insecure = false;
};

// Shares of a proof's time on a CPU, as measured; only their ratios count.
StageShares circom_stage_shares() {
  return {{"read_coefficients", 3},
          {"read_witness", 1},
          {"matvec", 3},
          {"ntt", 12},
          {"h_msm", 35},
          {"l_msm", 10},
          {"a_msm", 10},
          {"b_g1_msm", 8},
          {"b_g2_msm", 18},
          {"read_key", 0.3},
          {"verify", 0.2}};
}

// On the first card that can, or, where that is allowed, on the CPU.
Result<engine::CircomReply> prove_on(const ProveCircomOptions& o,
                                     const engine::CircomProver& prover,
                                     const format::InputBytes& wtns,
                                     engine::CircomProveOptions options, Session& session) {
  CUZK_TRY(const auto opened, open_devices(session.context(), o.device, 1, o.common.quiet));
  options.on_timing = [&](const groth16::PartitionTiming& t) {
    if (!o.common.quiet) std::fprintf(stderr, "%s\n", t.line().c_str());
  };
  for (const auto& card : opened.cards) {
    options.device = card;
    auto reply = prover.prove(session.context(), wtns, options);
    if (reply) return reply;
    const ErrorCode code = reply.error().code;
    // A proof that does not verify may be the witness's fault or the card's: the CPU knows.
    const bool in_doubt = code == ErrorCode::kUnsatisfied && o.device.cpu_fallback();
    const bool elsewhere =
        in_doubt || code == ErrorCode::kDeviceLost || code == ErrorCode::kOutOfBudget;
    const bool last = card == opened.cards.back() && !o.device.cpu_fallback();
    if (!elsewhere || last) return reply;
    tell_of_device(o.common.quiet,
                   fmt::format("{} failed: {}", card->name(), reply.error().message));
  }
  if (!opened.cards.empty()) tell_of_device(o.common.quiet, "proving on the CPU");
  options.device = nullptr;
  return prover.prove(session.context(), wtns, options);
}

Result<engine::CircomReply> prove(const ProveCircomOptions& o, Session& session) {
  CUZK_TRY_VOID(o.device.cards_options());
  const std::size_t most = session.memory().limit_bytes();
  CUZK_TRY(const auto zkey, read_input(o.zkey, most));
  CUZK_TRY(const auto wtns, read_input(o.wtns, most));
  engine::CircomProveOptions options;
  if (!o.r1cs.empty()) {
    CUZK_TRY(options.r1cs, read_input(o.r1cs, most));
  }
  if (!o.sym.empty()) {
    CUZK_TRY(options.sym, read_input(o.sym, most));
  }
  CUZK_TRY(const auto prover, engine::CircomProver::open(session.context(), zkey,
                                                         {.allow_insecure_key = o.allow_insecure}));
  return prove_on(o, prover, wtns, std::move(options), session);
}

void print_reply(const ProveCircomOptions& o, const engine::CircomReply& reply, Session& session) {
  const double resident = static_cast<double>(Session::peak_resident_bytes());
  if (!o.common.quiet) {
    std::fprintf(stderr, "CUZK_TIMING: %s peak_resident_mib=%.0f\n",
                 session.timeline().key_values().c_str(), resident / 1048576);
    if (o.allow_insecure) {
      std::fputs("note: the key was not checked for safety: proofs under it may be forged\n",
                 stderr);
    }
    std::fprintf(stderr, "proved and verified: %s, %u public signal%s in %s\n", o.proof.c_str(),
                 reply.num_public, reply.num_public == 1 ? "" : "s", o.public_signals.c_str());
  }
  if (!o.common.json) return;
  nlohmann::json spans;
  for (const SpanRecord& r : session.timeline().records()) {
    spans[r.name] = session.timeline().total_ms(r.name);
  }
  print_report(o.common, {{"proof_file", o.proof},
                          {"public_file", o.public_signals},
                          {"num_public", reply.num_public},
                          {"verified", true},
                          {"peak_reserved_bytes", session.memory().peak_bytes()},
                          {"peak_resident_bytes", Session::peak_resident_bytes()},
                          {"milliseconds", spans}});
}

Result<ExitCode> prove_circom(const ProveCircomOptions& o) {
  CUZK_TRY_VOID(check_one_standard_stream({o.zkey, o.wtns, o.r1cs, o.sym}, "standard input"));
  CUZK_TRY_VOID(check_one_standard_stream({o.proof, o.public_signals, o.common.json ? "-" : ""},
                                          "standard output"));
  CUZK_TRY(auto session, Session::start(o.common, circom_stage_shares(), 1));
  const auto reply = prove(o, *session);
  CUZK_TRY_VOID(session->finish());
  if (!reply) return fail(reply.error());
  CUZK_TRY_VOID(write_output(o.proof, reply->proof_json));
  CUZK_TRY_VOID(write_output(o.public_signals, reply->public_json));
  print_reply(o, *reply, *session);
  return kOk;
}

struct VerifyCircomOptions {
  CommonOptions common;
  std::string vk, proof, public_signals;
  bool allow_insecure = false;
};

Result<ExitCode> verify_circom(const VerifyCircomOptions& o) {
  CUZK_TRY_VOID(check_one_standard_stream({o.vk, o.proof, o.public_signals}, "standard input"));
  CUZK_TRY(const auto vk, read_input(o.vk, kMaxJsonBytes));
  CUZK_TRY(const auto public_signals, read_input(o.public_signals, kMaxJsonBytes));
  CUZK_TRY(const auto proof, read_input(o.proof, kMaxJsonBytes));
  Tasks tasks(o.common.threads);
  const Status verdict =
      engine::verify_circom(tasks, {vk, public_signals, proof}, o.allow_insecure);
  if (!verdict && verdict.error().code != ErrorCode::kInvalidProof) return fail(verdict.error());
  return print_verdict(o.common, verdict, nlohmann::json::object());
}

}  // namespace

void add_prove_circom(CLI::App& prove, Runner& run) {
  CLI::App* circom =
      prove.add_subcommand("circom", "A circom circuit: from a .zkey and a witness to proof.json");
  auto o = std::make_shared<ProveCircomOptions>();
  circom->add_option("--zkey", o->zkey, "Proving key of snarkjs, Groth16")->required();
  circom->add_option("--wtns", o->wtns, "Witness of circom")->required();
  circom->add_option("--proof", o->proof, "Where the proof goes, as JSON")->required();
  circom->add_option("--public", o->public_signals, "Where the public signals go, as JSON")
      ->required();
  circom->add_option("--r1cs", o->r1cs,
                     "The circuit: checks every constraint first and names the one that fails");
  circom->add_option("--sym", o->sym, "The signals' names, for the message about a constraint");
  circom->add_flag("--allow-insecure-key", o->allow_insecure,
                   "Prove even under a key whose proofs anybody can forge");
  o->device.add(*circom);
  o->common.add_resources(*circom);
  o->common.add_output(*circom);
  circom->footer(
      "Example:\n  cuzk prove circom --zkey circuit_final.zkey --wtns witness.wtns "
      "--proof proof.json --public public.json\n\n"
      "\"-\" stands for standard input or standard output. The proof is verified before it is "
      "written; nothing is written when anything fails.");
  circom->callback([o, &run] { run = [o] { return prove_circom(*o); }; });
}

void add_verify_circom(CLI::App& verify, Runner& run) {
  CLI::App* circom = verify.add_subcommand("circom", "A proof.json of snarkjs, of either curve");
  auto o = std::make_shared<VerifyCircomOptions>();
  circom->add_option("--vk", o->vk, "verification_key.json")->required();
  circom->add_option("--proof", o->proof, "proof.json")->required();
  circom->add_option("--public", o->public_signals, "public.json")->required();
  circom->add_flag("--allow-insecure-key", o->allow_insecure, "Verify even under a forgeable key");
  circom->add_option("--threads", o->common.threads, "Threads; default: all CPUs");
  o->common.add_output(*circom);
  circom->callback([o, &run] { run = [o] { return verify_circom(*o); }; });
}

}  // namespace cuzk::cli
