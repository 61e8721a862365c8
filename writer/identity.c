/* SPDX-License-Identifier: Apache-2.0 */
/* Who makes a change. */
#include "writer/identity.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>

/* The login uid names the person behind sudo; see /proc/PID/loginuid in proc(5). */
static uint32_t login_uid(void)
{
    AUTO_FD int fd = open("/proc/self/loginuid", O_RDONLY | O_CLOEXEC);
    char text[16] = "";
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return UINT32_MAX;
    return (uint32_t)strtoul(text, NULL, 10);
}

static void copy_name(char to[QS_NAME_MAX_BYTES + 1], const char *from)
{
    size_t len = strnlen(from, QS_NAME_MAX_BYTES);
    if (!len || !utf8_valid(from, len, NULL)) {
        memcpy(to, "?", 2);
        return;
    }
    memcpy(to, from, len);
    to[len] = '\0';
}

void actor_now(const char *program, struct actor *ret_actor)
{
    struct actor actor = {.uid = qs_os->geteuid(), .login_uid = login_uid(), .pid = (uint32_t)getpid()};
    struct passwd entry, *found = NULL;
    char buffer[4096];
    bool named = getpwuid_r(actor.uid, &entry, buffer, sizeof buffer, &found) == 0 && found;
    copy_name(actor.user, named ? found->pw_name : "?");
    copy_name(actor.program, program ? program : program_invocation_short_name);
    if (qs_os->realtime(&actor.time_s, &actor.time_ns)) {
        actor.time_s = 0;
        actor.time_ns = 0;
    }
    *ret_actor = actor;
}
