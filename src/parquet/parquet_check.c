/* SPDX-License-Identifier: Apache-2.0 */
#include "parquet/parquet_format.h"

grebe_status pq_check(struct format_reader *base, bool is_deep, const struct call *call,
                      check_fn fn, void *arg, grebe_error *err)
{
    (void)base; (void)is_deep; (void)call; (void)fn; (void)arg; (void)err;
    return GREBE_OK;
}
grebe_status pq_inspect(struct format_reader *base, struct buf *dst, grebe_error *err)
{
    (void)base;
    return buf_put_text(dst, "{}", err);
}
