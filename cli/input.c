/* SPDX-License-Identifier: Apache-2.0 */
/* Files that commands read whole. */
#include "cli/cli.h"

#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum qs_status input_read(const char *file_name, size_t max_bytes, char **ret_data, size_t *ret_len,
                          struct qs_error *err)
{
    if (strcmp(file_name, "-") == 0)
        return os_read_all(STDIN_FILENO, "standard input", max_bytes, ret_data, ret_len, err);
    int fd AUTO_FD = open(file_name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        error_sys(err, errno == ENOENT || errno == ENOTDIR ? QS_NOT_FOUND : QS_IO, errno, "cannot read the file");
        error_add_file(err, file_name);
        return err ? err->status : QS_IO;
    }
    return os_read_all(fd, file_name, max_bytes, ret_data, ret_len, err);
}
