/* SPDX-License-Identifier: Apache-2.0 */
/* Every command of qsettings, once. */
#include "cli/cli.h"

#include <errno.h>

#define SCOPE  "system user defaults scope "
#define COMMIT "message if-generation "
#define TARGET "backup dangling hard-linked other-owner "

enum group { START, READ, CHANGE, HISTORY, POLICY, FILES, MAINTENANCE };
static const char *const groups[] = {"Get started", "Read", "Change", "History", "Policy", "Files for other programs",
                                     "Maintenance", "Help", NULL};

static const struct command commands[] = {
    {.name = "init",
     .run = cmd_init,
     .group = START,
     .flags = SCOPE_WRITE,
     .options = SCOPE "require-policy no-require message",
     .summary = "create a scope's store",
     .more = "After 'init' the system store must exist for every policy read, so that nobody can drop the policy by "
             "removing the store. --no-require leaves this out; 'require' changes it later."},
    {.name = "require",
     .run = cmd_require,
     .group = START,
     .flags = SCOPE_WRITE,
     .options = SCOPE "off policy " COMMIT,
     .summary = "make readers fail unless the system store exists, or a policy is set",
     .more =
         "Without --policy: the system store must exist. With --policy: the store itself records that a policy must "
         "be set, and readers fail if there is none."},
    {.name = "get",
     .run = cmd_get,
     .group = READ,
     .flags = SCOPE_EFFECTIVE | EXACT,
     .operands = "KEY",
     .offer = offer_keys,
     .options = SCOPE "default at workspace",
     .summary = "print a value (strings unquoted, everything else as JSON)",
     .more = "Without a scope, this prints the effective value. --at reads one store. A secret is printed as it is, "
             "because you asked for it by name."},
    {.name = "list",
     .run = cmd_list,
     .group = READ,
     .flags = SCOPE_EFFECTIVE | PAGES,
     .operands = "[PREFIX]",
     .offer = offer_keys,
     .options = SCOPE "keys reveal at workspace",
     .summary = "list keys and values"},
    {.name = "explain",
     .run = cmd_explain,
     .group = READ,
     .flags = PAGES,
     .operands = "KEY",
     .offer = offer_keys,
     .options = "reveal workspace",
     .summary = "show each layer's value, which one wins, and why"},
    {.name = "export",
     .run = cmd_export,
     .group = READ,
     .flags = SCOPE_EFFECTIVE | EXACT,
     .options = SCOPE "format reveal at workspace",
     .summary = "print the settings as one document"},
    {.name = "watch",
     .run = cmd_watch,
     .group = READ,
     .flags = SCOPE_EFFECTIVE,
     .operands = "[PREFIX]",
     .offer = offer_keys,
     .options = SCOPE "once from exec reveal",
     .summary = "print a line for each new generation",
     .more =
         "--exec passes QSETTINGS_GENERATION, QSETTINGS_SCOPE, QSETTINGS_STORE and QSETTINGS_POLICY_CHANGED (1 or 0) "
         "in the environment. With --json each line is one object."},
    {.name = "set",
     .run = cmd_set,
     .group = CHANGE,
     .flags = SCOPE_WRITE,
     .operands = "KEY VALUE [KEY VALUE ...]",
     .offer = offer_pairs,
     .options = SCOPE "type " COMMIT,
     .summary = "set keys, all in one transaction",
     .more =
         "VALUE is JSON if it parses as JSON and the schema agrees; otherwise it is a string. '-' reads standard "
         "input and '@FILE' reads a file, which keeps a secret off the command line. Write a string that begins with "
         "@ as '\"@...\"'."},
    {.name = "add",
     .run = cmd_add,
     .group = CHANGE,
     .flags = SCOPE_WRITE,
     .operands = "KEY VALUE...",
     .offer = offer_keys,
     .options = SCOPE "type dry-run if-absent " COMMIT,
     .summary = "add elements to an array, each once",
     .more = "The array is read and written under the lock, so that two programs can share a list. An element that is "
             "there already changes nothing."},
    {.name = "remove",
     .run = cmd_remove,
     .group = CHANGE,
     .flags = SCOPE_WRITE,
     .operands = "KEY VALUE...",
     .offer = offer_stored_keys,
     .options = SCOPE "type dry-run " COMMIT,
     .summary = "remove elements from an array"},
    {.name = "unset",
     .run = cmd_unset,
     .group = CHANGE,
     .flags = SCOPE_WRITE,
     .operands = "KEY...",
     .offer = offer_stored_keys,
     .options = SCOPE COMMIT,
     .summary = "remove keys and everything below them, in one transaction"},
    {.name = "apply",
     .run = cmd_apply,
     .group = CHANGE,
     .flags = SCOPE_WRITE,
     .operands = "FILE",
     .options = SCOPE "format replace dry-run reveal " COMMIT,
     .summary = "merge a JSON or YAML document into a scope",
     .more = "Objects are merged; arrays and scalars are replaced. JSON may have comments. '-' reads standard input. A "
             "document that changes nothing makes no generation."},
    {.name = "edit",
     .run = cmd_edit,
     .group = CHANGE,
     .flags = SCOPE_WRITE,
     .options = SCOPE "message",
     .summary = "edit a scope as YAML in $VISUAL or $EDITOR",
     .more =
         "The text is checked, and committed only if nobody else has changed the scope. After an error or a conflict "
         "your text is kept and its path printed; on a terminal you can edit again."},
    {.name = "check",
     .run = cmd_check,
     .group = CHANGE,
     .flags = SCOPE_EFFECTIVE,
     .operands = "FILE",
     .options = SCOPE "format",
     .summary = "check a document and change nothing",
     .more = "With a scope it is judged as that scope's store would judge it: the system store takes no secrets."},
    {.name = "log",
     .run = cmd_log,
     .group = HISTORY,
     .flags = SCOPE_EFFECTIVE | PAGES,
     .operands = "[KEY]",
     .offer = offer_keys,
     .options = SCOPE "number reveal",
     .summary = "show who changed what, newest first"},
    {.name = "show",
     .run = cmd_show,
     .group = HISTORY,
     .flags = SCOPE_ONE | PAGES,
     .operands = "GEN",
     .offer = offer_generations,
     .options = SCOPE "reveal",
     .summary = "show the record of one generation"},
    {.name = "diff",
     .run = cmd_diff,
     .group = HISTORY,
     .flags = SCOPE_ONE | PAGES,
     .operands = "[A [B]]",
     .offer = offer_generations,
     .options = SCOPE "reveal exit-code",
     .summary = "compare two generations",
     .more = "B defaults to the newest generation, and A to the one before the newest."},
    {.name = "rollback",
     .run = cmd_rollback,
     .group = HISTORY,
     .flags = SCOPE_WRITE,
     .operands = "GEN",
     .offer = offer_generations,
     .options = SCOPE "dry-run reveal " COMMIT,
     .summary = "restore the settings of an older generation, as a new generation"},
    {.name = "purge",
     .run = cmd_purge,
     .group = HISTORY,
     .flags = SCOPE_WRITE,
     .operands = "KEY",
     .offer = offer_stored_keys,
     .options = SCOPE "message",
     .summary = "remove a key and its values from settings and history",
     .more = "For a secret that was stored by mistake. The history keeps digests of the values, so it still verifies. "
             "This cannot be undone."},
    {.name = "policy",
     .run = cmd_policy,
     .group = POLICY,
     .options = "require",
     .summary = "print the effective policy, or why there is none",
     .more = "Exit status: 0 only if there is a policy; 4 none, 5 a required store is absent, 6 damaged, 7 untrusted, "
             "3 invalid. With --json a refusal is printed on standard output too."},
    {.name = "lock",
     .run = cmd_lock,
     .group = POLICY,
     .flags = SCOPE_WRITE,
     .operands = "KEY...",
     .offer = offer_keys,
     .options = SCOPE COMMIT,
     .summary = "lock a key: values from weaker scopes are ignored",
     .more = "A lock covers the key and everything below it."},
    {.name = "unlock",
     .run = cmd_unlock,
     .group = POLICY,
     .flags = SCOPE_WRITE,
     .operands = "KEY...",
     .offer = offer_locks,
     .options = SCOPE COMMIT,
     .summary = "remove locks"},
    {.name = "locks",
     .run = cmd_locks,
     .group = POLICY,
     .flags = SCOPE_EFFECTIVE,
     .options = SCOPE,
     .summary = "list the locks"},
    {.name = "schema",
     .run = cmd_schema,
     .group = POLICY,
     .flags = PAGES,
     .operands = "[KEY]",
     .offer = offer_schema_keys,
     .options = "json-schema",
     .summary = "describe the known keys"},
    {.name = "publish",
     .run = cmd_publish,
     .group = FILES,
     .flags = SCOPE_EFFECTIVE,
     .operands = "[FILE]",
     .options = SCOPE "check on-commit list remove for adopt force format reveal message " TARGET,
     .summary = "write settings to a file that is never missing",
     .more =
         "Writes the effective settings, or those of one scope. A file that someone has edited since is overwritten "
         "only with --force or --adopt."},
    {.name = "replace",
     .run = cmd_replace,
     .group = FILES,
     .operands = "FILE",
     .options = "new-only " TARGET,
     .summary = "replace FILE atomically with standard input"},
    {.name = "doctor",
     .run = cmd_doctor,
     .group = MAINTENANCE,
     .flags = PAGES,
     .summary = "check stores, policy, published files and sandbox; suggest fixes",
     .more = "Anybody may run it, and it changes nothing. The exit status is 1 if a check fails, and 0 with warnings "
             "alone. Each check may take 30 seconds, or --wait."},
    {.name = "fsck",
     .run = cmd_fsck,
     .group = MAINTENANCE,
     .flags = SCOPE_ONE,
     .options = SCOPE,
     .summary = "verify a store and its whole history"},
    {.name = "repair",
     .run = cmd_repair,
     .group = MAINTENANCE,
     .flags = SCOPE_WRITE,
     .options = SCOPE "yes",
     .summary = "show the newest recoverable generation; --yes rolls back to it",
     .more =
         "Without --yes nothing changes, and the exit status is 6 while the store is damaged. With --yes the damaged "
         "file is kept aside."},
    {.name = "compact",
     .run = cmd_compact,
     .group = MAINTENANCE,
     .flags = SCOPE_WRITE,
     .options = SCOPE,
     .summary = "rebuild the store's file without free pages"},
    {.name = "backup",
     .run = cmd_backup,
     .group = MAINTENANCE,
     .flags = SCOPE_ONE,
     .operands = "FILE",
     .options = SCOPE "force",
     .summary = "write settings and history to a file",
     .more = "The file contains all values, secret ones too, and has mode 0600."},
    {.name = "restore",
     .run = cmd_restore,
     .group = MAINTENANCE,
     .flags = SCOPE_WRITE,
     .operands = "FILE",
     .options = SCOPE,
     .summary = "restore a backup, as a new generation"},
    {0},
};

/* What to do about an error that does not say so itself. */
static const char *usual_advice(const struct qs_error *err)
{
    switch (err->status) {
    case QS_ABSENT:
        return "create the store with 'qsettings init', or check --root";
    case QS_DAMAGED:
        return "'qsettings fsck' shows more; 'qsettings repair' shows what can be recovered";
    case QS_UNTRUSTED:
        if (err->sys_errno == EROFS)
            return "the file system is read-only: remount it, or name a file elsewhere";
        return "check the owner and mode of each directory on the way, and who you are";
    case QS_CONFLICT:
        return "look at what is there now, then try again";
    case QS_BUSY:
        return "try again, or wait longer with --wait";
    case QS_NEWER:
        return "use the version of qsettings that made it, or a later one";
    case QS_OK:
    case QS_USAGE:
    case QS_NOT_FOUND:
    case QS_INVALID:
    case QS_NO_POLICY:
    case QS_STALE:
    case QS_IO:
    case QS_FOLLOW_UP:
        return NULL;
    }
    return NULL;
}

const struct program qsettings_program = {
    .name = "qsettings",
    .summary = "settings and policy in a transactional store",
    .options = option_table,
    .common = "root json wait color no-pager",
    .leading = SCOPE,
    .commands = commands,
    .groups = groups,
    .start = "To begin: qsettings --user init; qsettings set KEY VALUE; qsettings get KEY\n",
    .closing = "\nWithout a scope, commands read the effective settings and write the user's store. Root must\n"
               "name a scope to write. Exit status: 0 done, 1 not found or different, 2 usage, 3 invalid\n"
               "input, 4 no policy, 5 store absent, 6 damaged, 7 not permitted or untrusted, 8 conflict,\n"
               "9 busy, 10 input/output error, 11 done and stored, but a follow-up failed.\n",
    .advice = usual_advice,
};
