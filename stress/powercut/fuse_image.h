/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording disk: a FUSE file system that shows one file, `image`, and logs each write and each flush that reaches
 * it, in the order of arrival. A second name, `mark`, takes text "N": that step N has been acknowledged; the write
 * returns once the mark is in the log.
 *
 * The log is two files given by the caller: struct crash_entry one after the other, and the bytes written. The server
 * is one thread, so the log's order is the order in which the image changed.
 */
#ifndef STRESS_FUSE_IMAGE_H
#define STRESS_FUSE_IMAGE_H

#include "stress/powercut/crash_states.h"

#define FUSE_IMAGE_NAME "image"
#define FUSE_MARK_NAME  "mark"

struct fuse_image {
    int image_fd; /* what the file's bytes are served from; already of its size */
    int entries_fd, data_fd;
    unsigned drop_flush; /* each drop_flush-th flush is acknowledged and ignored; 0: none */
};

/* Mounts at mount_point, writes one byte to ready_fd and serves until it is unmounted. For a child process of its own:
 * returns what it should exit with. Messages go to standard error. */
int fuse_image_serve(const struct fuse_image *image, const char *mount_point, int ready_fd);

#endif
