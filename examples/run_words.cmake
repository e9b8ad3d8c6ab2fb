# SPDX-License-Identifier: Apache-2.0
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${PROGRAM} ${DATA} ${FOLDER} OUTPUT_VARIABLE out RESULT_VARIABLE code)
if(NOT code EQUAL 0 OR NOT out STREQUAL "'s\nthe\n's\nteam\nseason\nearly\n")
    message(FATAL_ERROR "exit ${code}, output:\n${out}")
endif()
