/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effective settings: the layers defaults < user < workspace < system merged into one document, and why each value won.
 */
#ifndef QSETTINGS_SETTINGS_H
#define QSETTINGS_SETTINGS_H

#include "qsettings/store.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qs_settings;

enum qs_layer {
    QS_LAYER_DEFAULTS = 0,
    QS_LAYER_USER = 1,
    QS_LAYER_WORKSPACE = 2,
    QS_LAYER_SYSTEM = 3,
    QS_LAYER_COUNT = 4
};
QS_API const char *qs_layer_name(enum qs_layer layer);

struct qs_settings_options {
    size_t size;
    const char *root; /* as in qs_store_options */
    unsigned wait_ms;
    const char *workspace_file; /* NULL: no workspace layer; JSON or YAML by its ending */
};

/* Reads each store once, in one snapshot each, and the workspace file once, and merges. Absent stores are empty layers.
 * Errors: those of qs_snapshot_take but QS_ABSENT; QS_INVALID for the workspace file (with its place), QS_IO. */
QS_API enum qs_status qs_settings_open(const struct qs_settings_options *options, struct qs_settings **ret_settings,
                                       struct qs_error *err) QS_MUST_USE;
QS_API void qs_settings_close(struct qs_settings *settings);

/* The generation that a layer was read at; 0: no such store, or the workspace. */
QS_API uint64_t qs_settings_generation(const struct qs_settings *settings, enum qs_layer layer);

/* A node of the merged document as canonical JSON (NULL key: all of it). Heap text of the caller (free()). */
QS_API enum qs_status qs_settings_json(const struct qs_settings *settings, const char *key, char **ret_text,
                                       size_t *ret_len, struct qs_error *err) QS_MUST_USE;

/* Warnings that arose (an operator-only key in the workspace, dropped: with file and line). NULL unless index < count.
 */
QS_API size_t qs_settings_warning_count(const struct qs_settings *settings);
QS_API const char *qs_settings_warning(const struct qs_settings *settings, size_t index);

enum qs_layer_state { QS_LAYER_ABSENT = 0, QS_LAYER_UNSET = 1, QS_LAYER_SET = 2 };
QS_API const char *qs_layer_state_name(enum qs_layer_state state); /* "absent", "unset", "set" */
enum qs_reason {
    QS_REASON_NONE = 0,       /* no layer sets it */
    QS_REASON_ONLY = 1,       /* one layer sets it */
    QS_REASON_PRECEDENCE = 2, /* the highest layer that sets it */
    QS_REASON_MERGED = 3,     /* more than one layer contributes (objects, union, concat, shallow) */
    QS_REASON_LOCK = 4,       /* a lock silenced lower layers */
    QS_REASON_OPERATOR = 5,   /* the workspace's value was dropped: operator-only */
    QS_REASON_TIGHTEN = 6,    /* the workspace's value was dropped: it would have widened */
};
QS_API const char *qs_reason_name(enum qs_reason reason); /* "none", "only", ..., "operator-only", "tighten-only" */
/* Both are allocated by the library. */
struct qs_explain_layer {
    enum qs_layer_state state;
    const char *value;   /* canonical JSON, NULL unless SET */
    const char *store;   /* directory or file; NULL where there is none */
    uint64_t generation; /* 0: absent, or the workspace */
    bool silenced;       /* set, but counts for nothing (lock, operator, tighten) */
    bool locked_here;    /* this layer holds the lock that covers the key */
    /* who set it last, from the layer's history; user NULL where unknown */
    const char *user;
    uint64_t set_generation;
    int64_t set_time_s;
    unsigned line; /* the workspace: its place */
};
struct qs_explanation {
    const char *value; /* the effective one, canonical JSON; NULL: unset */
    int winner;        /* enum qs_layer, -1 for none or merged */
    enum qs_reason reason;
    const char *text; /* the reason in plain words */
};
/* Ownership: the caller frees with qs_explanation_free. Errors: QS_INVALID (path), those of qs_history_open. */
QS_API enum qs_status qs_settings_explain(struct qs_settings *settings, const char *key,
                                          struct qs_explanation **ret_explanation, struct qs_error *err) QS_MUST_USE;
/* What one layer has at the key; NULL if there is no such layer. Valid until the explanation is freed. */
QS_API const struct qs_explain_layer *qs_explanation_layer(const struct qs_explanation *explanation,
                                                           enum qs_layer layer);
QS_API void qs_explanation_free(struct qs_explanation *explanation);
/* Whose value stands at key, without asking the history: the winner as in an explanation (-1: none, or merged from
 * several) and its generation (0: none, or the workspace). Errors: QS_INVALID (path), QS_IO. */
QS_API enum qs_status qs_settings_origin(struct qs_settings *settings, const char *key, int *ret_winner,
                                         uint64_t *ret_generation, struct qs_error *err) QS_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
