/* SPDX-License-Identifier: Apache-2.0 */
/* Cleanup attributes and pointer stealing: one owner for each thing, released on every way out. */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *slot)
{
    int saved = errno;
    free(*(void **)slot);
    errno = saved;
}

static inline void cleanup_fd(const int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        (void)close(*fd);
    errno = saved;
}

#define AUTO_FREE     __attribute__((cleanup(cleanup_free)))
#define AUTO_FD       __attribute__((cleanup(cleanup_fd)))
#define AUTO(release) __attribute__((cleanup(release)))

static inline int steal_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* STEAL(p): the value of pointer p, which is NULL afterwards. */
#define STEAL(pointer) \
    __extension__({ \
        __typeof__(pointer) *slot_ = &(pointer); \
        __typeof__(pointer) taken_ = *slot_; \
        *slot_ = NULL; \
        taken_; \
    })

#endif
