# The proving service: pipeline, residency, journal, and their tests.
target_sources(cuzk_engine PRIVATE
  footprint.cc journal.cc pipeline.cc request.cc residency.cc service.cc service_status.cc telemetry.cc)
target_link_libraries(cuzk_engine PUBLIC cuzk::scheduler cuzk::msm cuzk::ntt cuzk::sqlite3)
