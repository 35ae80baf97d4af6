# What is installed is tested against the programs; the packages themselves by tools/test_package.sh.
if(NOT CUZK_TESTS)
  return()
endif()
foreach(pair pages:man completion:completions)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 test)
  list(GET pair 1 folder)
  add_test(NAME ${test}_test COMMAND ${python} ${here}/tests/${test}_test.py ${made}/${folder}
    $<TARGET_FILE:cuzk> $<TARGET_FILE:cuzk-bench>)
endforeach()
add_test(NAME monitoring_test COMMAND ${python} ${here}/tests/monitoring_test.py $<TARGET_FILE:cuzk>)
add_test(NAME unit_test COMMAND ${python} ${here}/tests/unit_test.py $<TARGET_FILE:cuzk>
  ${made}/cuzk.service ${here}/etc/cuzk.toml)

# Builds the packages and lives with them in a container: minutes, as root.
add_test(NAME package_test COMMAND ${CMAKE_SOURCE_DIR}/tools/test_package.py --build)
set_tests_properties(package_test PROPERTIES LABELS slow SKIP_RETURN_CODE 77)
