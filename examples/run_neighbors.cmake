# SPDX-License-Identifier: Apache-2.0
# Runs the example on a copy of its data set twice (the second time everything is preprocessed) and compares what it prints.
file(REMOVE_RECURSE ${FOLDER})
file(COPY ${DATA}/ DESTINATION ${FOLDER})
file(READ ${EXPECTED} expected)
foreach(time 1 2)
    execute_process(COMMAND ${PROGRAM} ${FOLDER} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE rc)
    if(NOT rc EQUAL 0 OR NOT out STREQUAL expected)
        message(FATAL_ERROR "run ${time}: exit ${rc}\n${err}${out}\nexpected\n${expected}")
    endif()
endforeach()
