/* SPDX-License-Identifier: Apache-2.0 */
/* From a private directory's objects to a pack in the host's store. */
#include "sandbox/crossing/objects.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "sandbox/crossing/files.h"
#include "sandbox/crossing/names.h"
#include "sandbox/host/copy_tree.h"
#include "sandbox/host/host_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define KEEP_TEXT       "qsandbox"
#define DATA_MAX        ((uint64_t)4 << 30)
#define COPY_STEP_BYTES ((size_t)1 << 20)

bool wanted_add(struct wanted *wanted, const char *id, enum wanted_kind kind)
{
    if (wanted->count == wanted->cap) {
        size_t cap = wanted->cap ? 2 * wanted->cap : 64;
        struct wanted_object *grown = reallocarray(wanted->items, cap, sizeof *grown);
        if (!grown)
            return false;
        wanted->items = grown;
        wanted->cap = cap;
    }
    wanted->items[wanted->count++] = (struct wanted_object){id, kind};
    return true;
}

void wanted_release(struct wanted *wanted)
{
    free(wanted->items);
    *wanted = (struct wanted){0};
}

/* ---- the scratch directory ---- */

enum qs_status objects_scratch(const struct repository *repository, struct qs_error *err)
{
    static const char *const names[] = {"scratch", "scratch/objects", "scratch/objects/info", "scratch/objects/pack",
                                        "scratch/refs"};
    static const char sha256[] = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = "
                                 "sha256\n";
    static const char sha1[] = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
    static const char head[] = "ref: refs/heads/none\n";
    AUTO(buf_release) struct buf alternates = {0};
    AUTO_FREE char *shallow = NULL;
    size_t len = 0;
    if (remove_tree(repository->state, "scratch", NULL) != QS_OK && errno != ENOENT)
        return error_sys(err, QS_IO, errno, "cannot remove %s/scratch", repository->state_path);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (mkdirat(repository->state, names[i], 0700) != 0)
            return error_sys(err, QS_IO, errno, "cannot make %s/%s", repository->state_path, names[i]);
    for (size_t i = 0; i < repository->store_count; i++)
        buf_printf(&alternates, "%s\n", repository->stores[i].path);
    const char *config = repository->sha256 ? sha256 : sha1;
    enum qs_status status = alternates.failed ? error_memory(err) : QS_OK;
    if (!status)
        status = files_write(repository->state, "scratch/objects/info/alternates", alternates.data, alternates.len,
                             false, err);
    if (!status)
        status = files_write(repository->state, "scratch/config", config, strlen(config), false, err);
    if (!status)
        status = files_write(repository->state, "scratch/HEAD", head, strlen(head), false, err);
    if (!status)
        status = files_read(repository->fd, "shallow", FILES_COPY_MAX_BYTES, &shallow, &len, err);
    return status || !shallow ? status : files_write(repository->state, "scratch/shallow", shallow, len, false, err);
}

/* A git of the host on the scratch directory, which the executor made and which names no remote. */
static enum qs_status scratch_git(const struct repository *repository, struct git_command *command,
                                  struct qs_error *err)
{
    AUTO_FREE char *scratch = path_join(repository->state_path, "scratch");
    if (!scratch)
        return error_memory(err);
    command_git(command, repository->empty, scratch);
    return QS_OK;
}

enum qs_status objects_have_prefix(const struct repository *repository, const char *prefix, bool *ret_have,
                                   struct qs_error *err)
{
    AUTO(command_release) struct git_command check = COMMAND_NONE;
    AUTO(buf_release) struct buf input = {0}, output = {.max_bytes = 4096};
    buf_printf(&input, "%s\n", prefix);
    enum qs_status status = scratch_git(repository, &check, err);
    if (status)
        return status;
    command_words(&check, "cat-file", "--batch-check", NULL);
    check.input = &input;
    check.outputs[0] = &output;
    status = command_must(&check, err);
    if (!status) /* "ID TYPE SIZE", or "PREFIX ambiguous" */
        *ret_have = !strstr(output.data ? output.data : "", " missing");
    return status;
}

/* ---- what is missing ---- */

static const char *const kind_names[] = {"commit", "commit", "blob", ""};

/* One line for each that was asked: "ID TYPE", or "ID missing". Those that are there must be of their kind. */
static enum qs_status check_kinds(const struct buf *output, const struct wanted *wanted, struct buf *missing,
                                  struct qs_error *err)
{
    const char *at = output->data ? output->data : "";
    for (size_t i = 0; i < wanted->count; i++) {
        const struct wanted_object *object = &wanted->items[i];
        size_t len = strlen(object->id), line = strcspn(at, "\n");
        if (line <= len || at[line] != '\n' || strncmp(at, object->id, len) != 0 || at[len] != ' ')
            return error_set(err, QS_INVALID, "git does not say what %s is", object->id);
        const char *kind = kind_names[object->kind];
        size_t kind_len = line - len - 1;
        bool is_missing = kind_len == 7 && memcmp(at + len + 1, "missing", 7) == 0;
        if (is_missing && !missing)
            return error_set(err, QS_INVALID, "the object %s is not there", object->id);
        if (is_missing)
            buf_printf(missing, "%s\n", object->id);
        else if (*kind && (kind_len != strlen(kind) || memcmp(at + len + 1, kind, kind_len) != 0))
            return error_set(err, QS_INVALID, "the object %s is not a %s", object->id, kind);
        at += line + 1;
    }
    return *at ? error_set(err, QS_INVALID, "git says more than it was asked") : QS_OK;
}

static enum qs_status find_missing(const struct repository *repository, const struct wanted *wanted,
                                   const struct buf *ids, struct buf *missing, struct qs_error *err)
{
    AUTO(command_release) struct git_command check = COMMAND_NONE;
    AUTO(buf_release) struct buf output = {.max_bytes = SIDE_TEXT_MAX_BYTES};
    enum qs_status status = scratch_git(repository, &check, err);
    if (status)
        return status;
    command_words(&check, "cat-file", "--batch-check=%(objectname) %(objecttype)", NULL);
    check.input = ids;
    check.outputs[0] = &output;
    status = command_must(&check, err);
    return status ? status : check_kinds(&output, wanted, missing, err);
}

/* ---- the pack ---- */

static void add_tips(struct buf *out, const struct sides *sides, const char *before)
{
    size_t left = OBJECTS_TIPS_MAX;
    for (size_t i = 0; i < sides->host.count && left; i++)
        if (!sides->host.items[i].symbolic) {
            buf_printf(out, "%s%s\n", before, sides->host.items[i].value);
            left--;
        }
    for (size_t i = 0; i < REPOSITORY_CHECKOUTS_MAX; i++) {
        const char *head = sides->checkouts[i].host.head;
        if (head && name_is_id(head))
            buf_printf(out, "%s%s\n", before, head);
    }
}

static enum qs_status pack_command(const struct repository *repository, struct git_command *pack, struct qs_error *err)
{
    enum qs_status status = confine_private(repository, false, pack, err);
    if (status)
        return status;
    confine_program(pack, COMMAND_GIT);
    command_words(pack, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", NULL);
    command_format(pack, "--git-dir=%s", repository->host);
    command_words(pack, "pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "-q", NULL);
    if (repository->partial)
        command_word(pack, "--missing=allow-any");
    return QS_OK;
}

/* It sees the scratch directory and the host's object stores, each under its name on the host. */
static enum qs_status check_command(const struct repository *repository, const struct objects_limits *limits, bool pack,
                                    struct git_command *check, struct qs_error *err)
{
    static const char script[] =
        "g='git -c core.fsync=committed --git-dir='\"$1\"; cd \"$1\" && unset PWD OLDPWD; "
        "if [ -n \"$2\" ]; then $g index-pack --stdin --fix-thin --fsck-objects --keep=" KEEP_TEXT
        " --max-input-size=\"$2\" >/dev/null 3>&- 4>&- || exit; fi; "
        "$g rev-list --objects --quiet $3 --stdin <revs >/dev/null 3>&- 4>&- || exit; "
        "$g rev-list --parents --no-walk --stdin <stashes >&4 3>&- || exit; "
        "$g cat-file '--batch-check=%(objectname) %(objecttype)' <ids >&3 4>&-";
    AUTO_FD int scratch = files_open_dir(repository->state, "scratch");
    enum qs_status status = confine_begin(check, err);
    if (!status && scratch < 0)
        status = error_sys(err, QS_IO, errno, "cannot open %s/scratch", repository->state_path);
    if (!status)
        status = confine_show(check, scratch, "/tmp/scratch", true, err);
    for (size_t i = 0; i < repository->store_count && !status; i++)
        status = confine_show(check, repository->stores[i].fd, repository->stores[i].path, false, err);
    if (status)
        return status;
    confine_program(check, "/bin/sh");
    command_words(check, "-c", script, "sh", "/tmp/scratch", NULL);
    if (pack)
        command_format(check, "%llu", (unsigned long long)limits->pack_bytes);
    else
        command_word(check, "");
    command_word(check, repository->partial ? "--missing=allow-any" : "");
    check->file_bytes = limits->scratch_bytes;
    check->data_bytes = DATA_MAX;
    check->cpu_seconds = limits->seconds;
    check->timeout_ms = limits->seconds * 1000;
    return QS_OK;
}

/* Of each stash "ID PARENT PARENT [PARENT]". */
static enum qs_status check_stashes(const struct buf *output, const struct wanted *wanted, struct qs_error *err)
{
    size_t expected = 0, seen = 0;
    for (size_t i = 0; i < wanted->count; i++)
        expected += wanted->items[i].kind == WANTED_STASH;
    for (const char *at = output->data ? output->data : ""; *at; seen++) {
        size_t line = strcspn(at, "\n"), words = 1;
        for (size_t i = 0; i < line; i++)
            words += at[i] == ' ';
        if (words < 3 || words > 4)
            return error_set(err, QS_INVALID, "a stash has not two or three parents");
        at += line + (at[line] == '\n');
    }
    return seen <= expected ? QS_OK : error_set(err, QS_INVALID, "git says more than it was asked");
}

static enum qs_status write_lists(const struct repository *repository, const struct sides *sides,
                                  const struct wanted *wanted, const struct buf *ids, struct qs_error *err)
{
    AUTO(buf_release) struct buf revs = {0}, stashes = {0};
    for (size_t i = 0; i < wanted->count; i++) {
        if (wanted->items[i].kind != WANTED_BLOB)
            buf_printf(&revs, "%s\n", wanted->items[i].id);
        if (wanted->items[i].kind == WANTED_STASH)
            buf_printf(&stashes, "%s\n", wanted->items[i].id);
    }
    add_tips(&revs, sides, "^");
    if (revs.failed || stashes.failed)
        return error_memory(err);
    enum qs_status status = files_write(repository->state, "scratch/revs", revs.data, revs.len, false, err);
    if (!status)
        status = files_write(repository->state, "scratch/stashes", stashes.data, stashes.len, false, err);
    return status ? status : files_write(repository->state, "scratch/ids", ids->data, ids->len, false, err);
}

/* Both at once: the pack runs from the one to the other. */
static enum qs_status pack_and_check(const struct repository *repository, const struct sides *sides,
                                     struct buf *missing, const struct wanted *wanted,
                                     const struct objects_limits *limits, struct qs_error *err)
{
    AUTO(command_release) struct git_command pack = COMMAND_NONE, check = COMMAND_NONE;
    AUTO(buf_release)
    struct buf kinds = {.max_bytes = SIDE_TEXT_MAX_BYTES}, stashes = {.max_bytes = SIDE_TEXT_MAX_BYTES};
    struct git_command *both[2] = {&check, &pack};
    bool any = missing->len != 0;
    int ends[2];
    enum qs_status status = check_command(repository, limits, any, &check, err);
    if (!status && any)
        status = pack_command(repository, &pack, err);
    if (status)
        return status;
    buf_add_str(missing, "--not\n");
    add_tips(missing, sides, "");
    if (missing->failed)
        return error_memory(err);
    if (any && pipe2(ends, O_CLOEXEC) != 0)
        return error_sys(err, QS_IO, errno, "cannot make a pipe");
    if (any) {
        check.input_fd = ends[0];
        pack.output_fd = ends[1];
    }
    pack.input = missing;
    pack.timeout_ms = limits->seconds * 1000;
    check.outputs[1] = &kinds;
    check.outputs[2] = &stashes;
    status = commands_run(both, any ? 2 : 1, err);
    for (size_t i = any ? 2 : 1; i > 0 && !status; i--) /* the pack's own words first: the other's follow from them */
        if (both[i - 1]->exit_status)
            status = error_set(err, QS_INVALID, "its objects cannot be taken: %s",
                               both[i - 1]->error[0] ? both[i - 1]->error : "git failed without a word");
    if (!status)
        status = check_stashes(&stashes, wanted, err);
    return status ? status : check_kinds(&kinds, wanted, NULL, err);
}

/* ---- into the host's store ---- */

/* pack-HEX.EXTENSION. */
static bool is_pack_file(const char *name, const char *extension)
{
    size_t len = strlen(name), ext = strlen(extension);
    return len > 5 + ext && strncmp(name, "pack-", 5) == 0 && strcmp(name + len - ext, extension) == 0 &&
           strspn(name + 5, "0123456789abcdef") == len - 5 - ext;
}

static enum qs_status copy_across(int from, int to, const char *name, struct qs_error *err)
{
    char temporary[256];
    struct stat st;
    (void)snprintf(temporary, sizeof temporary, "tmp_qsandbox_%.200s", name);
    (void)unlinkat(to, temporary, 0);
    AUTO_FD int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_FD int out = in < 0 || fstat(in, &st) != 0 || !S_ISREG(st.st_mode)
                          ? -1
                          : openat(to, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    ssize_t len = -1;
    while (out >= 0 && (len = sendfile(out, in, NULL, COPY_STEP_BYTES)) > 0)
        continue;
    if (len < 0 || os_fsync(out) != 0 || renameat(to, temporary, to, name) != 0)
        return error_sys(err, QS_IO, errno, "cannot copy %s into the host's object store", name);
    return QS_OK;
}

static enum qs_status take_files(int from, int to, const char *extension, struct qs_error *err)
{
    int fd = files_open_dir(from, ".");
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    enum qs_status status = list ? QS_OK : error_sys(err, QS_IO, errno, "cannot read the scratch directory");
    struct dirent *entry;
    struct stat st;
    while (list && !status && (entry = readdir(list))) {
        const char *name = entry->d_name;
        if (!is_pack_file(name, extension) || fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(st.st_mode) || linkat(from, name, to, name, 0) == 0 || errno == EEXIST)
            continue;
        status = errno == EXDEV || errno == EPERM
                     ? copy_across(from, to, name, err)
                     : error_sys(err, QS_IO, errno, "cannot put %s into the host's object store", name);
    }
    if (list)
        (void)closedir(list);
    return status;
}

/* The index last: without it git sees no pack. */
static enum qs_status migrate(const struct repository *repository, struct qs_error *err)
{
    static const char *const extensions[] = {".keep", ".pack", ".rev", ".idx"};
    AUTO_FD int from = files_open_dir(repository->state, "scratch/objects/pack");
    if (mkdirat(repository->stores[0].fd, "pack", 0777) != 0 && errno != EEXIST)
        return error_sys(err, QS_IO, errno, "cannot make %s/pack", repository->stores[0].path);
    AUTO_FD int to = files_open_dir(repository->stores[0].fd, "pack");
    enum qs_status status =
        from < 0 || to < 0 ? error_sys(err, QS_IO, errno, "cannot open %s/pack", repository->stores[0].path) : QS_OK;
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0] && !status; i++)
        status = take_files(from, to, extensions[i], err);
    if (!status && os_fsync(to) != 0)
        status = error_sys(err, QS_IO, errno, "cannot make %s/pack durable", repository->stores[0].path);
    return status;
}

enum qs_status objects_bring(const struct repository *repository, const struct sides *sides,
                             const struct wanted *wanted, const struct objects_limits *limits, struct qs_error *err)
{
    AUTO(buf_release) struct buf ids = {0}, missing = {0};
    for (size_t i = 0; i < wanted->count; i++)
        buf_printf(&ids, "%s\n", wanted->items[i].id);
    if (!wanted->count)
        return QS_OK;
    if (ids.failed)
        return error_memory(err);
    enum qs_status status = find_missing(repository, wanted, &ids, &missing, err);
    bool any = missing.len != 0;
    if (!status)
        status = write_lists(repository, sides, wanted, &ids, err);
    if (!status)
        status = pack_and_check(repository, sides, &missing, wanted, limits, err);
    return status || !any ? status : migrate(repository, err);
}

void objects_finish(const struct repository *repository)
{
    AUTO_FD int packs = files_open_dir(repository->stores[0].fd, "pack");
    int fd = packs < 0 ? -1 : files_open_dir(packs, ".");
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    while (list && (entry = readdir(list))) {
        AUTO_FREE char *text = NULL;
        if (is_pack_file(entry->d_name, ".keep") && files_read_text(packs, entry->d_name, 64, &text, NULL) == QS_OK &&
            text && strcmp(text, KEEP_TEXT "\n") == 0)
            (void)unlinkat(packs, entry->d_name, 0);
    }
    if (list)
        (void)closedir(list);
    enum qs_status status = remove_tree(repository->state, "scratch", NULL);
    (void)status; /* the next crossing makes it anew */
}
