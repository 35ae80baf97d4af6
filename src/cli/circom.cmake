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
install(TARGETS cuzk-prover cuzk-verifier DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT rapidsnark)
