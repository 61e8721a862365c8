/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: one store: whole, as required, modes, file system, leftovers. */
#include "cli/doctor/doctor.h"

#include "base/os.h"
#include "store/meta_record.h"
#include "store/store_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* One store looked at. */
struct subject {
    struct cli *cli;
    struct findings *findings;
    enum qs_scope scope;
    const char *scope_name;
    struct store_dir dir;
    bool exists;
};

static void place_drop(struct subject *subject)
{
    store_dir_release(&subject->dir);
}

/* "modes.system" */
static const char *name_of(const struct subject *subject, const char *what, char text[64])
{
    (void)snprintf(text, 64, "%s.%s", what, subject->scope_name);
    return text;
}

/* ---- the store itself ---- */

static void absent(const struct subject *subject, struct qs_store *store, const struct qs_error *why)
{
    char name[64];
    bool required = false;
    struct qs_error err = {0};
    AUTO_FREE char *init = doctor_command(subject->cli, subject->scope_name, "init");
    name_of(subject, "store", name);
    if (qs_store_is_required(store, &required, &err))
        finding_add_error(subject->findings, name, FINDING_FAIL, &err, NULL);
    else if (required)
        finding_add(subject->findings, name, FINDING_FAIL, init,
                    "required, and absent: every policy read is refused (%s)", subject->dir.path);
    else
        finding_add(subject->findings, name, FINDING_OK, NULL, "none; that is allowed (%s)",
                    why->file[0] ? why->file : subject->dir.path);
}

static void unwell(const struct subject *subject, const struct qs_error *err)
{
    char name[64];
    AUTO_FREE char *see = NULL;
    struct qs_error shown = *err;
    if (err->status == QS_DAMAGED) {
        see = doctor_command(subject->cli, subject->scope_name, "repair");
        shown.advice[0] = '\0';
    } else if (err->status == QS_NEWER) {
        see = NULL;
    } else if (asprintf(&see, "namei -l %s", subject->dir.path) < 0) {
        see = NULL;
    }
    finding_add_error(subject->findings, name_of(subject, "store", name),
                      err->status == QS_BUSY ? FINDING_WARN : FINDING_FAIL, &shown, see);
}

static void store(struct subject *subject)
{
    char name[64];
    AUTO_STORE struct qs_store *handle = NULL;
    struct qs_fsck_report found = {.size = sizeof found};
    struct qs_error err = {0};
    enum qs_status status = cli_open(subject->cli, subject->scope, &handle, &err);
    if (!status)
        status = qs_store_fsck(handle, &found, &err);
    subject->exists = status != QS_ABSENT;
    if (status == QS_ABSENT)
        absent(subject, handle, &err);
    else if (status)
        unwell(subject, &err);
    else
        finding_add(subject->findings, name_of(subject, "store", name), FINDING_OK, NULL,
                    "whole: generation %llu, %llu settings, %llu records, format %d",
                    (unsigned long long)found.generation, (unsigned long long)found.entries,
                    (unsigned long long)found.records, META_RECORD_VERSION);
}

/* A system store that is not demanded can be taken away, and the policy falls to the user's own. */
static void required(const struct subject *subject)
{
    AUTO_STORE struct qs_store *handle = NULL;
    struct qs_error err = {0};
    bool is_required = false;
    AUTO_FREE char *demand = doctor_command(subject->cli, subject->scope_name, "require");
    if (subject->scope != QS_SCOPE_SYSTEM || !subject->exists || cli_open(subject->cli, subject->scope, &handle, NULL))
        return;
    if (qs_store_is_required(handle, &is_required, &err))
        finding_add_error(subject->findings, "required", FINDING_FAIL, &err, NULL);
    else if (is_required)
        finding_add(subject->findings, "required", FINDING_OK, NULL, "the system store must exist");
    else
        finding_add(subject->findings, "required", FINDING_WARN, demand,
                    "the system store may be missing: without it the policy is the user's own");
}

/* ---- modes ---- */

/* Bits that a file of the store should have, and should not. */
static void mode(const struct subject *subject, int dir_fd, const char *file, mode_t wanted, mode_t unwanted,
                 const char *why)
{
    struct stat st;
    char name[64];
    AUTO_FREE char *advice = NULL;
    if (fstatat(dir_fd, file, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (!S_ISREG(st.st_mode) || ((st.st_mode & wanted) == wanted && !(st.st_mode & unwanted)))
        return;
    if (asprintf(&advice, "chmod %04o %s/%s", (unsigned)(((st.st_mode & 07777) | wanted) & ~unwanted),
                 subject->dir.path, file) < 0)
        advice = NULL;
    finding_add(subject->findings, name_of(subject, "modes", name), FINDING_WARN, advice, "%s has mode %04o: %s", file,
                (unsigned)(st.st_mode & 07777), why);
}

static void modes(const struct subject *subject, int dir_fd)
{
    char name[64];
    size_t before = json_array_size(subject->findings->list);
    mode_t data = store_dir_data_mode(&subject->dir);
    bool for_all = data & S_IROTH;
    mode(subject, dir_fd, STORE_DATA_FILE, data, 07777 & ~(mode_t)data,
         for_all ? "0644 lets everyone read it, and only its owner write" : "others need not see it");
    mode(subject, dir_fd, STORE_LOCK_FILE, 0600, 07177, "who can open it can keep writers waiting");
    if (json_array_size(subject->findings->list) == before)
        finding_add(subject->findings, name_of(subject, "modes", name), FINDING_OK, NULL, "as they should be");
}

/* ---- file system ---- */

void doctor_judge_file_system(const char *name, uint32_t magic, struct findings *findings)
{
    static const struct {
        uint32_t magic; /* linux/magic.h */
        const char *what, *advice;
    } odd[] = {
        {0x01021994, "a file system in memory: gone with the next boot", "keep stores on a disk"},
        {0x858458f6, "a file system in memory: gone with the next boot", "keep stores on a disk"},
        {0x794c7630, "an overlay, as in a container: gone with it", "mount a volume where stores are to stay"},
        {0x65735546, "a FUSE file system: what a flush means there is up to its program",
         "keep stores on a local disk"},
    };
    const char *network = store_dir_network_name(magic);
    if (network) {
        finding_add(findings, name, FINDING_WARN, "keep stores on a local disk",
                    "a network file system (%s): it can be read there, and writing is refused", network);
        return;
    }
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        if (magic == odd[i].magic) {
            finding_add(findings, name, FINDING_WARN, odd[i].advice, "%s", odd[i].what);
            return;
        }
    finding_add(findings, name, FINDING_OK, NULL, "local (type %#x)", (unsigned)magic);
}

static void file_system(const struct subject *subject, int dir_fd)
{
    struct statfs fs;
    char name[64];
    name_of(subject, "filesystem", name);
    if (qs_os->fstatfs(dir_fd, &fs) != 0)
        finding_add(subject->findings, name, FINDING_FAIL, NULL, "cannot be examined: %s", strerrordesc_np(errno));
    else
        doctor_judge_file_system(name, (uint32_t)fs.f_type, subject->findings);
}

/* ---- leftovers ---- */

static const char *leftover(const char *entry)
{
    if (strcmp(entry, STORE_TEMP_FILE) == 0)
        return "left by a writer that was killed; the next write removes it";
    if (strncmp(entry, STORE_DATA_FILE ".damaged-", sizeof STORE_DATA_FILE ".damaged-" - 1) == 0)
        return "kept aside by repair; remove it when nobody needs it any more";
    return "not a file of the store";
}

static bool belongs(const char *entry)
{
    static const char *const own[] = {".", "..", STORE_DATA_FILE, STORE_LOCK_FILE};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(entry, own[i]) == 0)
            return true;
    return false;
}

static void leftovers(const struct subject *subject, int dir_fd)
{
    char name[64];
    int fd = os_open_at(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        AUTO_FREE char *advice = NULL;
        if (belongs(entry->d_name))
            continue;
        if (asprintf(&advice, "ls -l %s/%s", subject->dir.path, entry->d_name) < 0)
            advice = NULL;
        finding_add(subject->findings, name_of(subject, "litter", name), FINDING_WARN, advice, "%s: %s", entry->d_name,
                    leftover(entry->d_name));
    }
    if (dir)
        (void)closedir(dir);
    else if (fd >= 0)
        (void)close(fd);
}

/* What a killed init left beside the stores. */
static void unfinished(const struct subject *subject)
{
    int fd = -1;
    if (subject->scope != QS_SCOPE_SYSTEM && !subject->dir.home)
        return; /* the scopes of one root lie side by side: once is enough */
    if (store_dir_open_parent(&subject->dir, false, &fd, NULL))
        return;
    int again = os_open_at(fd, ".", O_RDONLY | O_DIRECTORY, 0, 0);
    (void)close(fd);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (strncmp(entry->d_name, STORE_INIT_PREFIX, sizeof STORE_INIT_PREFIX - 1) == 0)
            finding_add(subject->findings, "litter", FINDING_WARN, "remove it, unless an init is going on",
                        "%s beside %s was left by an init that was killed", entry->d_name, subject->dir.path);
    if (dir)
        (void)closedir(dir);
    else if (again >= 0)
        (void)close(again);
}

/* ---- all of it ---- */

static void look(struct cli *cli, enum qs_scope scope, struct findings *findings)
{
    AUTO(place_drop)
    struct subject subject = {.cli = cli, .findings = findings, .scope = scope, .scope_name = qs_scope_name(scope)};
    struct qs_error err = {0};
    char name[64];
    AUTO_FD int dir_fd = -1;
    cli->home_noted = true; /* a finding of its own */
    if (store_dir_init(scope, cli->line.root, &subject.dir, &err)) {
        finding_add_error(findings, name_of(&subject, "store", name), FINDING_FAIL, &err, NULL);
        return;
    }
    store(&subject);
    required(&subject);
    unfinished(&subject);
    if (store_dir_open(&subject.dir, &dir_fd, NULL))
        return; /* absent, or said above */
    modes(&subject, dir_fd);
    file_system(&subject, dir_fd);
    leftovers(&subject, dir_fd);
}

void doctor_system(struct cli *cli, struct findings *findings)
{
    look(cli, QS_SCOPE_SYSTEM, findings);
}

void doctor_user(struct cli *cli, struct findings *findings)
{
    look(cli, QS_SCOPE_USER, findings);
}

void doctor_defaults(struct cli *cli, struct findings *findings)
{
    look(cli, QS_SCOPE_DEFAULTS, findings);
}
