# The commands about circom's files, and rapidsnark's two programs.
target_sources(cuzk_cli PRIVATE circom_files.cc cmd_circom.cc cmd_circom_files.cc)
target_link_libraries(cuzk_cli PUBLIC cuzk::circom)

foreach(program prover verifier)
  add_executable(cuzk-${program} rapidsnark_${program}.cc)
  set_target_properties(cuzk-${program} PROPERTIES OUTPUT_NAME ${program})
  cuzk_compile_flags(cuzk-${program})
  target_link_libraries(cuzk-${program} PRIVATE cuzk::cli)
endforeach()

include(GNUInstallDirs)
install(TARGETS cuzk-prover cuzk-verifier DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)

if(CUZK_TESTS)
  cuzk_require_package(Python3 python3 COMPONENTS Interpreter)
  add_test(NAME circom_cli_test
    COMMAND $<TARGET_FILE:Python3::Interpreter> ${CMAKE_CURRENT_SOURCE_DIR}/circom_cli_test.py
      $<TARGET_FILE:cuzk> $<TARGET_FILE:cuzk-prover> $<TARGET_FILE:cuzk-verifier> ${CMAKE_SOURCE_DIR}/testdata)
  # snarkjs from npm as the judge; skipped where node or the package is not there.
  find_program(CUZK_NODE node)
  if(CUZK_NODE)
    add_test(NAME circom_snarkjs_test
      COMMAND ${CUZK_NODE} ${CMAKE_CURRENT_SOURCE_DIR}/snarkjs_test.js
        $<TARGET_FILE:cuzk> $<TARGET_FILE:cuzk-prover> ${CMAKE_SOURCE_DIR}/testdata
        ${CMAKE_SOURCE_DIR}/../shared/inputs/circom/made)
    set_tests_properties(circom_snarkjs_test PROPERTIES LABELS npm SKIP_RETURN_CODE 77)
    # Ceremonies' keys from npm packages; skipped where they are not there.
    add_test(NAME npm_keys_test COMMAND ${CUZK_NODE} ${CMAKE_CURRENT_SOURCE_DIR}/npm_keys_test.js
      $<TARGET_FILE:cuzk>)
    set_tests_properties(npm_keys_test PROPERTIES LABELS npm SKIP_RETURN_CODE 77)
    add_test(NAME node_example_test COMMAND ${CUZK_NODE} ${CMAKE_SOURCE_DIR}/examples/node/test.mjs
      $<TARGET_FILE:cuzk> ${CMAKE_SOURCE_DIR}/testdata/circom)
  endif()
endif()
