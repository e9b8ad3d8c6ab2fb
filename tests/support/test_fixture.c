/* SPDX-License-Identifier: Apache-2.0 */
#include "test_fixture.h"

#include <stdlib.h>

#include "test_support.h"

int fixture_set_up(void **state)
{
    grebe_error err = GREBE_ERROR_INIT;
    struct fixture *f = calloc(1, sizeof *f);
    assert_ok(context_new(NULL, &f->ctx, &err));
    f->folder = test_folder_new();
    f->seed = test_seed();
    *state = f;
    return 0;
}

int fixture_tear_down(void **state)
{
    struct fixture *f = *state;
    context_free(f->ctx);
    test_folder_remove(f->folder);
    free(f);
    return 0;
}
