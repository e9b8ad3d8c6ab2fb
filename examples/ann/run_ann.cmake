# SPDX-License-Identifier: Apache-2.0
execute_process(COMMAND bash ${FOLDER}/run ${PROGRAM} OUTPUT_VARIABLE out ERROR_VARIABLE errors RESULT_VARIABLE code)
file(READ ${FOLDER}/expected.txt expected)
if(NOT code EQUAL 0 OR NOT errors STREQUAL "" OR NOT out STREQUAL expected)
    message(FATAL_ERROR "exit ${code}, errors:\n${errors}\noutput, which is not that of ${FOLDER}/expected.txt:\n${out}")
endif()
