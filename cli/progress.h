/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_CLI_PROGRESS_H
#define GREBE_CLI_PROGRESS_H

#include "grebe/grebe.h"

/** When progress is shown. */
enum progress_mode { PROGRESS_AUTO = 0, PROGRESS_ALWAYS, PROGRESS_NEVER, PROGRESS_JSON };

struct progress;

/** NULL when nothing is to be shown (or memory is short). */
struct progress *progress_new(enum progress_mode mode);
/** The callback of grebe_call_options; progress_ctx is the struct progress. */
void progress_update(void *progress_ctx, const grebe_progress *now);
/** Remove the line from the screen before something else is printed. NULL accepted. */
void progress_clear(struct progress *p);
void progress_free(struct progress *p);

#endif
