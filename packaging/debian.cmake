# The Debian packages, by CPack: `make package`.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cuzk)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE-MIT)
set(CPACK_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_SET_DESTDIR ON)  # /etc is no part of the prefix
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_COMPONENTS_ALL programs library development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${debian_revision})
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${maintainer}")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME cuzk)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS systemd)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "prometheus, grafana")
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION
"Groth16 proofs for Filecoin and circom, with a proving daemon
cuzk turns Filecoin vanilla proofs and circom witnesses into SNARKs and
checks every proof before it leaves. It proves PoRep, WinningPoSt,
WindowPoSt and sector updates of every sector size, SnarkPack aggregates,
and any Groth16 zkey of snarkjs.
.
The package has the programs cuzk, cuzk-bench, prover and verifier (the
latter two with rapidsnark's arguments), and the proving daemon as a
service, which answers Curio's client and has a status page, a dashboard
and alert rules.")
configure_file(debian/conffiles.in debian/conffiles @ONLY)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_CONTROL_EXTRA
  "${made}/debian/conffiles;${here}/debian/postinst;${here}/debian/prerm;${here}/debian/postrm")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libcuzk1)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
configure_file(debian/shlibs.in debian/shlibs @ONLY)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${here}/debian/triggers;${made}/debian/shlibs")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
"Groth16 proofs of circom circuits - library
libcuzk makes and verifies Groth16 proofs of circom circuits on BN254 and
BLS12-381 from C, and from every language that calls C. It also has the
functions of rapidsnark's library.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcuzk-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libcuzk1 (= ${PROJECT_VERSION}-${debian_revision})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"Groth16 proofs of circom circuits - development files
libcuzk makes and verifies Groth16 proofs of circom circuits on BN254 and
BLS12-381 from C. This package has its headers, and what pkg-config and CMake
need to find it.")

foreach(pair programs:cuzk library:libcuzk1 development:libcuzk-dev)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  set(documents ${CMAKE_INSTALL_DATADIR}/doc/${package})
  install(FILES debian/copyright ${made}/changelog.Debian.gz DESTINATION ${documents} COMPONENT ${component})
  if(EXISTS ${here}/debian/${package}.lintian-overrides)
    install(FILES debian/${package}.lintian-overrides RENAME ${package}
      DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${component})
  endif()
endforeach()
foreach(document operators daemon service)
  install(FILES ${CMAKE_SOURCE_DIR}/docs/${document}.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/cuzk
    COMPONENT programs)
endforeach()

include(CPack)
