# SPDX-License-Identifier: Apache-2.0
# Tests that are no unit tests: the command against expected output, and the peers by pytest.

if(TARGET grebe_cli)
    file(GLOB cli_cases CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cli/*.sh)
    foreach(case ${cli_cases})
        get_filename_component(name ${case} NAME_WE)
        add_test(NAME cli.${name} COMMAND ${CMAKE_SOURCE_DIR}/scripts/run-cli-test ${CMAKE_BINARY_DIR} ${case})
        set_tests_properties(cli.${name} PROPERTIES LABELS "short;cli" TIMEOUT 120 SKIP_RETURN_CODE 77)
    endforeach()
    add_test(NAME demo COMMAND ${CMAKE_SOURCE_DIR}/scripts/demo ${CMAKE_BINARY_DIR})
    set_tests_properties(demo PROPERTIES LABELS "short;cli" TIMEOUT 120)
endif()

# A peer that is not installed skips its tests with a count (exit code 77), never silently.
if(TARGET grebe_python AND NOT GREBE_SANITIZE)
    file(GLOB interop CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/interop/test_*.py ${CMAKE_CURRENT_SOURCE_DIR}/python/test_*.py)
    foreach(file ${interop})
        get_filename_component(name ${file} NAME_WE)
        get_filename_component(folder ${file} DIRECTORY)
        get_filename_component(folder ${folder} NAME)
        add_test(NAME ${folder}.${name} COMMAND ${CMAKE_SOURCE_DIR}/scripts/run-pytest ${CMAKE_BINARY_DIR} ${file})
        set_tests_properties(${folder}.${name} PROPERTIES LABELS "medium;interop" TIMEOUT 900 SKIP_RETURN_CODE 77)
    endforeach()
endif()

# A driver that writes files through the room itself, with every option; tests/interop/test_parquet_written.py loads it.
if(TARGET room_parquet AND NOT GREBE_SANITIZE)
    add_library(parquet_driver SHARED ${CMAKE_CURRENT_SOURCE_DIR}/tools/parquet_driver.c)
    target_link_libraries(parquet_driver PRIVATE room_parquet)
endif()

# Kernels with variants: the same tests without vector instructions.
foreach(test test_vdb_ivf test_vdb_search)
    if(TARGET gitvdb_${test})
        add_test(NAME unit.gitvdb.${test}.scalar COMMAND gitvdb_${test})
        set_tests_properties(unit.gitvdb.${test}.scalar PROPERTIES LABELS short TIMEOUT 300 ENVIRONMENT GREBE_SIMD=scalar)
    endif()
endforeach()

# Gigabytes, and minutes: by hand and by night (`make test-long`).
if(TARGET graph_test_graph_large)
    set_tests_properties(unit.graph.test_graph_large PROPERTIES LABELS long TIMEOUT 1800 RUN_SERIAL TRUE)
endif()

# Tests that set a cancel token at the n-th look at it.
foreach(test grebe_test_graph_init grebe_test_graph_cancel)
    if(TARGET ${test})
        target_link_options(${test} PRIVATE -Wl,--wrap=call_check)
    endif()
endforeach()

# What graphs are made of is said in YAML: without it these have nothing to open.
if(NOT GREBE_WITH_YAML)
    foreach(test graph.test_csc_pieces graph.test_graph_crash graph.test_graph_degrees graph.test_graph_edges graph.test_graph_large
            graph.test_graph_loader graph.test_graph_loader_refused graph.test_graph_memory graph.test_graph_metadata
            graph.test_graph_place graph.test_graph_preprocess graph.test_graph_rebuild graph.test_graph_seeds graph.test_graph_verify
            grebe.test_graph_files grebe.test_graph_hostile grebe.test_graph_init grebe.test_graph_cancel)
        set_tests_properties(unit.${test} PROPERTIES DISABLED TRUE)
    endforeach()
endif()
