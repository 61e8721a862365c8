/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that does not flush: fdatasync fails, so that a test can see what is not done after it. */
#include <errno.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default"))) /* the build hides all else */

SHOWN int fdatasync(int fd);

int fdatasync(int fd)
{
    (void)fd;
    errno = EIO;
    return -1;
}
