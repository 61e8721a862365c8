/* SPDX-License-Identifier: Apache-2.0 */
/* Serving the calls that make, rename and remove names of git's common directory. */
#include "sandbox/shim/shim_broker.h"

#include "base/cleanup.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE_ARCH AUDIT_ARCH_RISCV64
#else
#define NATIVE_ARCH 0 /* no call has it: nothing is shown, and the names are not granted */
#endif

/* ---- in the command's process ---- */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SHOW_IF_CALL(number) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)
/* The low half of an argument comes first: all architectures above are little-endian. */
#define SHOW_IF_CREATES(number, argument) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 4), LOAD(args[argument]), \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int install(void)
{
    struct sock_filter steps[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        LOAD(nr),
#ifdef SYS_open
        SHOW_IF_CREATES(SYS_open, 1),
#endif
        SHOW_IF_CREATES(SYS_openat, 2),
#ifdef SYS_rename
        SHOW_IF_CALL(SYS_rename),
#endif
#ifdef SYS_renameat
        SHOW_IF_CALL(SYS_renameat),
#endif
        SHOW_IF_CALL(SYS_renameat2),
#ifdef SYS_unlink
        SHOW_IF_CALL(SYS_unlink),
#endif
        SHOW_IF_CALL(SYS_unlinkat),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof steps / sizeof steps[0], .filter = steps};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SYS_LISTENER_FLAGS, &program);
}

/* One descriptor, with one byte. */
union ancillary {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

enum qs_status broker_offer(int socket, struct qs_error *err)
{
    AUTO_FD int listener = install();
    if (listener < 0)
        return error_sys(err, QS_IO, errno, "the kernel refuses to show calls to PID 1");
    char byte = 0;
    union ancillary ancillary = {0};
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = ancillary.bytes,
                             .msg_controllen = sizeof ancillary.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof listener);
    memcpy(CMSG_DATA(header), &listener, sizeof listener);
    return sendmsg(socket, &message, 0) == 1 ? QS_OK : error_sys(err, QS_IO, errno, "cannot hand the listener over");
}

/* ---- in PID 1 ---- */

enum name {
    NAME_PACKED,
    NAME_PACKED_LOCK,
    NAME_PACKED_NEW,
    NAME_PID,
    NAME_PID_LOCK,
    NAME_HEAD_LOCK,
    NAME_COUNT,
};
static const char *const names[NAME_COUNT] = {
    [NAME_PACKED] = "packed-refs", [NAME_PACKED_LOCK] = "packed-refs.lock", [NAME_PACKED_NEW] = "packed-refs.new",
    [NAME_PID] = "gc.pid",         [NAME_PID_LOCK] = "gc.pid.lock",         [NAME_HEAD_LOCK] = "HEAD.lock"};

struct broker {
    const struct spec *spec;
    int socket, listener;
    uint64_t made[SPEC_REF_DIRS_MAX][NAME_COUNT]; /* inodes that this run made under the name; 0: none */
    struct seccomp_notif_sizes sizes;
    struct seccomp_notif *call; /* both as large as the kernel's */
    struct seccomp_notif_resp *answer;
};

/* A name of the call, if it is one of the few. */
struct place {
    size_t dir;
    enum name name;
};

/* The text at address of the calling process; false where it cannot be read. */
static bool read_path(const struct broker *broker, uint64_t address, char path[PATH_MAX])
{
    char file[64];
    (void)snprintf(file, sizeof file, "/proc/%u/mem", broker->call->pid);
    AUTO_FD int fd = open(file, O_RDONLY | O_CLOEXEC);
    size_t len = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    while (fd >= 0 && len < PATH_MAX) {
        /* To the end of a page, for the next one may not be there. */
        size_t want = page - (size_t)((address + len) % page);
        if (want > PATH_MAX - len)
            want = PATH_MAX - len;
        ssize_t got = pread(fd, path + len, want, (off_t)(address + len));
        if (got <= 0)
            return false;
        if (memchr(path + len, 0, (size_t)got))
            return true;
        len += (size_t)got;
    }
    return false;
}

/* The directory of path, as the caller would find it. */
static int open_parent(const struct broker *broker, int dir_fd, char *path)
{
    char *slash = strrchr(path, '/'), base[64];
    if (path[0] == '/') {
        *slash = '\0';
        return sys_open(AT_FDCWD, slash == path ? "/" : path, O_PATH | O_DIRECTORY, 0);
    }
    if (dir_fd == AT_FDCWD)
        (void)snprintf(base, sizeof base, "/proc/%u/cwd", broker->call->pid);
    else
        (void)snprintf(base, sizeof base, "/proc/%u/fd/%d", broker->call->pid, dir_fd);
    AUTO_FD int start = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!slash)
        return steal_fd(&start);
    *slash = '\0';
    return start < 0 ? -1 : sys_open(start, path, O_PATH | O_DIRECTORY, 0);
}

static bool find(const struct broker *broker, uint64_t dir_fd, uint64_t address, struct place *ret_place)
{
    char path[PATH_MAX];
    struct stat st;
    if (!read_path(broker, address, path))
        return false;
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    enum name name = 0;
    while (name < NAME_COUNT && strcmp(last, names[name]) != 0)
        name++;
    if (name == NAME_COUNT)
        return false;
    AUTO_FD int parent = open_parent(broker, (int)dir_fd, path);
    if (parent < 0 || fstat(parent, &st) != 0 ||
        ioctl(broker->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &broker->call->id) != 0)
        return false; /* invalid: the caller is dead, and what was read may be another's */
    for (size_t i = 0; i < broker->spec->ref_dir_count; i++)
        if (broker->spec->ref_dirs[i].dev == st.st_dev && broker->spec->ref_dirs[i].ino == st.st_ino) {
            *ret_place = (struct place){.dir = i, .name = name};
            return true;
        }
    return false;
}

static int dir_of(const struct broker *broker, struct place place)
{
    return broker->spec->ref_dirs[place.dir].fd;
}

/* Is what now bears the name what this run made under it? */
static bool is_ours(const struct broker *broker, struct place place)
{
    struct stat st;
    uint64_t made = broker->made[place.dir][place.name];
    return made && fstatat(dir_of(broker, place), names[place.name], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_ino == made;
}

static void answer(struct broker *broker, int error)
{
    broker->answer->error = -error;
    broker->answer->val = 0;
    broker->answer->flags = 0;
}

/* Makes the file and gives the caller its descriptor, which is also the answer. True: answered. */
static bool serve_open(struct broker *broker, struct place place, uint64_t flags, uint64_t mode)
{
    const char *name = names[place.name];
    struct stat st;
    if (!(flags & O_EXCL) || place.name == NAME_PACKED || place.name == NAME_PID)
        return false;
    int wanted = (int)(flags & O_ACCMODE) | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    AUTO_FD int fd = openat(dir_of(broker, place), name, wanted, (mode_t)(mode & 0666));
    if (fd < 0 || fstat(fd, &st) != 0) {
        answer(broker, errno);
        return false;
    }
    broker->made[place.dir][place.name] = st.st_ino;
    struct seccomp_notif_addfd give = {.id = broker->call->id,
                                       .flags = SECCOMP_ADDFD_FLAG_SEND,
                                       .srcfd = (uint32_t)fd,
                                       .newfd_flags = (uint32_t)(flags & O_CLOEXEC)};
    if (ioctl(broker->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give) >= 0)
        return true;
    int error = errno;
    (void)unlinkat(dir_of(broker, place), name, 0); /* the caller is dead, or may open no more files */
    answer(broker, error);
    return false;
}

static void serve_unlink(struct broker *broker, struct place place)
{
    if (place.name == NAME_PACKED || !is_ours(broker, place))
        return;
    answer(broker, unlinkat(dir_of(broker, place), names[place.name], 0) == 0 ? 0 : errno);
    broker->made[place.dir][place.name] = 0; /* the number may be another file's soon */
}

static void serve_rename(struct broker *broker, struct place from, struct place to)
{
    bool fits =
        (from.name == NAME_PACKED_NEW && to.name == NAME_PACKED) || (from.name == NAME_PID_LOCK && to.name == NAME_PID);
    int dir = dir_of(broker, from);
    if (!fits || from.dir != to.dir || !is_ours(broker, from))
        return;
    answer(broker, renameat(dir, names[from.name], dir, names[to.name]) == 0 ? 0 : errno);
    broker->made[to.dir][to.name] = broker->made[from.dir][from.name];
    broker->made[from.dir][from.name] = 0;
}

/* True: answered already. What is left alone is answered with "go on". */
static bool serve(struct broker *broker)
{
    const struct seccomp_data *data = &broker->call->data;
    const uint64_t here = (uint64_t)AT_FDCWD;
    const __u64 *args = data->args;
    struct place place, to;
    switch (data->nr) {
#ifdef SYS_open
    case SYS_open:
        return find(broker, here, args[0], &place) && serve_open(broker, place, args[1], args[2]);
#endif
    case SYS_openat:
        return find(broker, args[0], args[1], &place) && serve_open(broker, place, args[2], args[3]);
#ifdef SYS_unlink
    case SYS_unlink:
        if (find(broker, here, args[0], &place))
            serve_unlink(broker, place);
        break;
#endif
    case SYS_unlinkat:
        if ((int)args[2] == 0 && find(broker, args[0], args[1], &place))
            serve_unlink(broker, place);
        break;
#ifdef SYS_rename
    case SYS_rename:
        if (find(broker, here, args[0], &place) && find(broker, here, args[1], &to))
            serve_rename(broker, place, to);
        break;
#endif
    default: /* renameat and renameat2 begin alike; the first has no flags */
        if ((data->nr != SYS_renameat2 || (unsigned)args[4] == 0) && find(broker, args[0], args[1], &place) &&
            find(broker, args[2], args[3], &to))
            serve_rename(broker, place, to);
        break;
    }
    return false;
}

static int receive(int socket)
{
    char byte;
    int fd = -1;
    union ancillary ancillary = {0};
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = ancillary.bytes,
                             .msg_controllen = sizeof ancillary.bytes};
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

static void *run(void *context)
{
    struct broker *broker = context;
    broker->listener = receive(broker->socket);
    (void)close(broker->socket);
    if (broker->listener >= 0) /* Linux 6.6; without it all is the same, but slower */
        (void)ioctl(broker->listener, SYS_LISTENER_SET_FLAGS, SYS_LISTENER_SYNC_WAKE_UP);
    while (broker->listener >= 0) {
        memset(broker->call, 0, broker->sizes.seccomp_notif);
        memset(broker->answer, 0, broker->sizes.seccomp_notif_resp);
        if (ioctl(broker->listener, SECCOMP_IOCTL_NOTIF_RECV, broker->call) != 0) {
            if (errno == EINTR || errno == ENOENT) /* ENOENT: the caller is dead */
                continue;
            break;
        }
        broker->answer->id = broker->call->id;
        broker->answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        if (!serve(broker))
            (void)ioctl(broker->listener, SECCOMP_IOCTL_NOTIF_SEND, broker->answer);
    }
    return NULL;
}

enum qs_status broker_start(const struct spec *spec, int socket, struct qs_error *err)
{
    pthread_t thread;
    struct broker *broker = calloc(1, sizeof *broker); /* lives as long as the thread, which is as long as PID 1 */
    if (!broker || syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &broker->sizes) != 0) {
        free(broker);
        return error_set(err, QS_IO, "cannot have calls shown");
    }
    /* The kernel's may be larger than the headers'. */
    if (broker->sizes.seccomp_notif < sizeof *broker->call)
        broker->sizes.seccomp_notif = sizeof *broker->call;
    if (broker->sizes.seccomp_notif_resp < sizeof *broker->answer)
        broker->sizes.seccomp_notif_resp = sizeof *broker->answer;
    broker->call = malloc(broker->sizes.seccomp_notif);
    broker->answer = malloc(broker->sizes.seccomp_notif_resp);
    broker->spec = spec;
    broker->socket = socket;
    if (broker->call && broker->answer && pthread_create(&thread, NULL, run, broker) == 0) {
        (void)pthread_detach(thread);
        return QS_OK;
    }
    free(broker->call);
    free(broker->answer);
    free(broker);
    return error_set(err, QS_IO, "cannot start the thread that calls are shown to");
}
