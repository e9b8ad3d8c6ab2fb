# SPDX-License-Identifier: Apache-2.0
# Tests beyond the unit programs. Those that need pyarrow, duckdb and polars run when
# GREBE_INTEROP_PYTHON names a Python that has them.
set(GREBE_INTEROP_PYTHON "" CACHE FILEPATH "Python with pyarrow, duckdb and polars")

add_library(parquet_driver SHARED EXCLUDE_FROM_ALL ${CMAKE_CURRENT_SOURCE_DIR}/tools/parquet_driver.c)
target_link_libraries(parquet_driver PRIVATE room_parquet)
if(GREBE_INTEROP_PYTHON)
    set_target_properties(parquet_driver PROPERTIES EXCLUDE_FROM_ALL OFF)
    add_test(NAME interop.parquet_written COMMAND ${GREBE_INTEROP_PYTHON}
        ${CMAKE_CURRENT_SOURCE_DIR}/interop/test_parquet_written.py $<TARGET_FILE:parquet_driver>)
    set_tests_properties(interop.parquet_written PROPERTIES LABELS medium TIMEOUT 1200)
endif()
