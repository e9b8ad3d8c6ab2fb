# SPDX-License-Identifier: Apache-2.0
# Runs the example twice (the second time the cache has everything) and compares what it prints.
file(REMOVE_RECURSE ${FOLDER})
file(READ ${EXPECTED} expected)
foreach(time 1 2)
    execute_process(COMMAND ${PROGRAM} ${DATA} ${FOLDER} OUTPUT_VARIABLE out RESULT_VARIABLE rc)
    if(NOT rc EQUAL 0 OR NOT out STREQUAL expected)
        message(FATAL_ERROR "run ${time}: exit ${rc}\n${out}\nexpected\n${expected}")
    endif()
endforeach()
