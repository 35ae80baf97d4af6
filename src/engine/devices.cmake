# The cards that prove, and their tests.
target_sources(cuzk_engine PRIVATE card_keys.cc devices.cc job_devices.cc)
target_link_libraries(cuzk_engine PUBLIC cuzk::gpu)
cuzk_test(engine devices_test SOURCES devices_test.cc)
