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
