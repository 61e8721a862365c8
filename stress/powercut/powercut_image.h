/* SPDX-License-Identifier: Apache-2.0 */
/* A disk image in memory, kept as the pages that are not zero, so that thousands of states of it are cheap to write. */
#ifndef STRESS_POWERCUT_IMAGE_H
#define STRESS_POWERCUT_IMAGE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct image {
    uint64_t bytes;
    unsigned char **pages; /* NULL: zeros */
};

/* Reads a file's data extents. Ownership: release with image_release. Errors: QS_IO. */
enum qs_status image_load(int fd, struct image *ret_image, struct qs_error *err) QS_MUST_USE;
void image_release(struct image *image);

/* Puts bytes (NULL: zeros) at an offset. Errors: QS_IO (memory), QS_INVALID (beyond the image). */
enum qs_status image_write(struct image *image, uint64_t offset, const void *data, uint64_t len,
                           struct qs_error *err) QS_MUST_USE;

/* Makes fd's file the image, sparse where it is zero; the old content is gone. */
enum qs_status image_dump(const struct image *image, int fd, struct qs_error *err) QS_MUST_USE;

#endif
