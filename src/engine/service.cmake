# The proving service: pipeline, residency, journal, and their tests.
target_sources(cuzk_engine PRIVATE
  circom_circuits.cc circuit_ids.cc footprint.cc journal.cc
  pipeline.cc pipeline_circuits.cc pipeline_stages.cc pipeline_status.cc
  request.cc residency.cc
  service.cc service_answers.cc service_report.cc service_requests.cc service_status.cc telemetry.cc)
target_link_libraries(cuzk_engine PUBLIC cuzk::scheduler cuzk::msm cuzk::ntt cuzk::sqlite3)
include(${CMAKE_CURRENT_LIST_DIR}/devices.cmake)
cuzk_test(engine service_test SOURCES service_test.cc SYSTEM GTest::gmock)
cuzk_test(engine service_circom_test SOURCES service_circom_test.cc SYSTEM GTest::gmock nlohmann_json::nlohmann_json)
cuzk_test(engine journal_test SOURCES journal_test.cc SYSTEM GTest::gmock)
cuzk_test(engine crash_test SOURCES crash_test.cc)
cuzk_test(engine service_porep_test SOURCES service_porep_test.cc SYSTEM GTest::gmock)
if(CUZK_TESTS)
  # One development key for all tests of a build tree.
  target_compile_definitions(service_porep_test PRIVATE CUZK_DEV_PARAMS_DIR="${CMAKE_BINARY_DIR}/dev-params")
  set_tests_properties(service_porep_test PROPERTIES RESOURCE_LOCK dev_params)
endif()
cuzk_test(engine compile_bound_test SOURCES compile_bound_test.cc ARGS --gtest_filter=-CompileBoundSlow.*)
if(CUZK_TESTS)
  add_test(NAME compile_bound_slow_test COMMAND compile_bound_test --gtest_filter=CompileBoundSlow.*)
  set_tests_properties(compile_bound_slow_test PROPERTIES LABELS slow)
endif()
