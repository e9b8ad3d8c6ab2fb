# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)
if(TARGET grebe)
    install(TARGETS grebe LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(DIRECTORY include/grebe DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
    configure_file(cmake/grebe.pc.in ${CMAKE_BINARY_DIR}/grebe.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/grebe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    configure_file(cmake/GrebeConfig.cmake.in ${CMAKE_BINARY_DIR}/GrebeConfig.cmake @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/GrebeConfig.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Grebe)
endif()
if(TARGET grebe_cli)
    install(TARGETS grebe_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    set_target_properties(grebe_cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    # Man pages and completions come from the command's own tables.
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/man1/grebe.1
        COMMAND ${CMAKE_SOURCE_DIR}/scripts/make-man $<TARGET_FILE:grebe_cli> ${CMAKE_BINARY_DIR}/man
        DEPENDS grebe_cli ${CMAKE_SOURCE_DIR}/scripts/make-man VERBATIM)
    add_custom_target(grebe_man ALL DEPENDS ${CMAKE_BINARY_DIR}/man/man1/grebe.1)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
    install(FILES ${CMAKE_BINARY_DIR}/man/grebe.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME grebe)
    install(FILES ${CMAKE_BINARY_DIR}/man/_grebe DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${CMAKE_BINARY_DIR}/man/grebe.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
if(TARGET grebe_python)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/python/grebe DESTINATION ${CMAKE_INSTALL_LIBDIR}/grebe/python
        PATTERN "__pycache__" EXCLUDE PATTERN "_core.abi3.so" EXCLUDE)
    install(TARGETS grebe_python LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/grebe/python/grebe)
    set_target_properties(grebe_python PROPERTIES INSTALL_RPATH "$ORIGIN/../../..")
endif()
