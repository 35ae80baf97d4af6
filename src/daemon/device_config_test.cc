// What gpus.* and cpu.* of the configuration make of the devices that are there.

#include "daemon/device_config.h"

#include <gtest/gtest.h>

#include "daemon/daemon.h"
#include "gpu/runtime.h"

namespace cuzk::daemon {
namespace {

Result<LoadedConfig> load(const std::string& toml) { return load_config_text(toml, "test", {}); }

std::string error_of(const std::string& toml) {
  const auto loaded = load(toml);
  return loaded ? "" : loaded.error().message;
}

TEST(DeviceConfig, EntriesAreOrdinalsOrNone) {
  bool no_cards = false;
  auto loaded = load("[gpus]\ndevices = [0, \"2\", \"cuda:11\"]\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(*card_ordinals(loaded->config, no_cards), (std::vector<int>{0, 2, 11}));
  EXPECT_FALSE(no_cards);
  loaded = load("[gpus]\ndevices = [\"none\"]\n");
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(card_ordinals(loaded->config, no_cards)->empty());
  EXPECT_TRUE(no_cards);
  EXPECT_NE(error_of("[gpus]\ndevices = [\"fast\"]\n").find("'fast' is no GPU"), std::string::npos);
  EXPECT_NE(error_of("[gpus]\ndevices = [\"none\", 0]\n").find("'none' is no GPU"),
            std::string::npos);
  EXPECT_NE(error_of("[gpus]\ndevices = [1, 1]\n").find("named twice"), std::string::npos);
  EXPECT_NE(error_of("[cpu]\nuse = \"maybe\"\n").find("auto, always, never"), std::string::npos);
}

TEST(DeviceConfig, BudgetAndWorkersAreTaken) {
  const auto loaded = load("[gpus]\nvram_budget = \"16GiB\"\ngpu_workers_per_device = 3\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config.vram_budget_bytes, std::size_t{16} << 30);
  EXPECT_FALSE(load("[gpus]\nvram_budget = \"auto\"\n")->config.vram_budget_bytes);
}

TEST(DeviceConfig, WithoutACardTheCpuProvesAndNamedCardsAreAnError) {
  if (!gpu::list_devices().empty()) GTEST_SKIP() << "there is a card: nothing was run";
  std::vector<std::string> notes;
  const auto plain = service_options(Config{}, &notes);
  ASSERT_TRUE(plain) << plain.error().message;
  ASSERT_EQ(plain->devices.size(), 1u);
  EXPECT_EQ(plain->devices[0].name, "cpu");
  EXPECT_FALSE(plain->devices[0].fallback);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find(gpu::no_device_reason()), std::string::npos) << notes[0];

  Config named;
  named.gpu_devices = {"0"};
  const auto refused = service_options(named);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message.find("gpus.devices: "), 0u) << refused.error().message;
  EXPECT_NE(refused.error().message.find(gpu::no_device_reason()), std::string::npos);

  Config nothing;
  nothing.cpu_use = "never";
  const auto none = service_options(nothing);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("nothing is left to prove on"), std::string::npos);
}

}  // namespace
}  // namespace cuzk::daemon
