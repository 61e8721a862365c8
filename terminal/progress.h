/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress of long work, on a terminal only: a line on standard error that begins after a second, says how long the
 * work has taken and how much this process has read and written, and is gone when the work ends.
 *
 *     struct progress *progress = progress_begin("compact");
 *     ... the work, which prints nothing itself ...
 *     progress_end(progress);
 *
 * Threads: one of its own in between, which touches nothing but the line.
 */
#ifndef TERMINAL_PROGRESS_H
#define TERMINAL_PROGRESS_H

struct progress;

/* what is borrowed. NULL where standard error is no terminal that can show it, or no thread can be had. */
struct progress *progress_begin(const char *what);
void progress_end(struct progress *progress);   /* NULL is fine */
void progress_drop(struct progress **progress); /* the same, for AUTO(progress_drop) */

#endif
