/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents: one text in one of two formats, its value, and the place of each node of it. Places are not kept: they are
 * found again in the text when an error asks for one.
 */
#include "text/doc.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "base/utf8.h"
#include "text/json.h"
#include "text/key_path.h"
#include "text/yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

struct doc {
    char *file;
    char *text; /* without BOM; JSON: comments blanked */
    size_t len;
    enum doc_format format;
    json_t *root;
};

void doc_free(struct doc *doc)
{
    if (!doc)
        return;
    int saved = errno;
    json_decref(doc->root);
    free(doc->text);
    free(doc->file);
    free(doc);
    errno = saved;
}

void doc_release(struct doc **doc)
{
    doc_free(*doc);
    *doc = NULL;
}

const json_t *doc_root(const struct doc *doc)
{
    return doc->root;
}

const char *doc_file(const struct doc *doc)
{
    return doc->file;
}

enum doc_format doc_format_of(const char *file_name)
{
    const char *slash = strrchr(file_name, '/');
    const char *dot = strrchr(slash ? slash + 1 : file_name, '.');
    return dot && (strcasecmp(dot, ".yaml") == 0 || strcasecmp(dot, ".yml") == 0) ? DOC_YAML : DOC_JSON;
}

static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!strchr(" \t\r\n", text[i]) || !text[i])
            return false;
    return true;
}

static enum qs_status parse_json(struct doc *doc, struct qs_error *err)
{
    size_t bad;
    bool is_utf8 = utf8_valid(doc->text, doc->len, &bad); /* comments too, so before they are blanked */
    enum qs_status status = jsontext_blank_comments(doc->text, doc->len, err);
    if (!is_utf8) {
        error_set(err, QS_INVALID, "the text is not UTF-8");
        jsontext_blame(doc->text, doc->len, bad + 1, true, err);
        return QS_INVALID;
    }
    if (status)
        return status;
    if (is_blank(doc->text, doc->len)) {
        error_set(err, QS_INVALID, "the document is empty");
        error_add_place(err, 1, 1);
        return QS_INVALID;
    }
    return jsontext_parse(doc->text, doc->len, &doc->root, err);
}

static enum qs_status fill(struct doc *doc, const char *text, size_t len, bool object_only, struct qs_error *err)
{
    if (len > QS_DOCUMENT_MAX_BYTES)
        return error_set(err, QS_INVALID, "the document is larger than %u bytes", QS_DOCUMENT_MAX_BYTES);
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        len -= 3;
    }
    doc->len = len;
    doc->text = malloc(len + 1);
    if (!doc->text || !doc->file)
        return error_memory(err);
    if (len)
        memcpy(doc->text, text, len);
    doc->text[len] = '\0';
    enum qs_status status =
        doc->format == DOC_YAML ? yamltext_parse(doc->text, len, &doc->root, err) : parse_json(doc, err);
    if (!status && object_only && !json_is_object(doc->root)) {
        unsigned line, column;
        doc_locate(doc, NULL, false, &line, &column);
        status =
            error_set(err, QS_INVALID, "the document must be an object, but is of type %s", value_type_name(doc->root));
        error_add_place(err, line, column);
    }
    return status;
}

static enum qs_status parse(const char *file_name, const void *text, size_t len, enum doc_format format,
                            bool object_only, struct doc **ret_doc, struct qs_error *err)
{
    AUTO(doc_release) struct doc *doc = calloc(1, sizeof *doc);
    if (!doc)
        return error_memory(err);
    doc->file = strdup(file_name);
    doc->format = format;
    enum qs_status status = fill(doc, text, len, object_only, err);
    if (status) {
        error_add_file(err, file_name);
        return status;
    }
    *ret_doc = STEAL(doc);
    return QS_OK;
}

enum qs_status doc_parse(const char *file_name, const void *text, size_t len, enum doc_format format,
                         struct doc **ret_doc, struct qs_error *err)
{
    return parse(file_name, text, len, format, true, ret_doc, err);
}

enum qs_status doc_parse_value(const char *file_name, const void *text, size_t len, enum doc_format format,
                               struct doc **ret_doc, struct qs_error *err)
{
    return parse(file_name, text, len, format, false, ret_doc, err);
}

/* Standard input has no name to tell. A comment begins with '/' in JSON and with '#' in YAML. */
static enum doc_format guess_format(const char *text, size_t len)
{
    size_t at = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    at += strspn(text + at, " \t\r\n");
    if (!text[at] || text[at] == '{' || text[at] == '[')
        return DOC_JSON;
    return text[at] == '/' && (text[at + 1] == '/' || text[at + 1] == '*') ? DOC_JSON : DOC_YAML;
}

enum qs_status doc_read(const char *file_name, size_t max_bytes, struct doc **ret_doc, struct qs_error *err)
{
    AUTO_FD int fd = -1;
    AUTO_FREE char *text = NULL;
    size_t len;
    bool standard_input = strcmp(file_name, "-") == 0;
    const char *name = standard_input ? "standard input" : file_name;
    if (!standard_input) {
        fd = os_open_at(AT_FDCWD, file_name, O_RDONLY | O_NOCTTY, 0, 0);
        if (fd < 0) {
            bool absent = errno == ENOENT || errno == ENOTDIR;
            enum qs_status failed = error_sys(err, absent ? QS_NOT_FOUND : QS_IO, errno, "cannot open %s", name);
            error_add_file(err, name);
            return failed;
        }
    }
    enum qs_status status = os_read_all(standard_input ? STDIN_FILENO : fd, name, max_bytes, &text, &len, err);
    if (status) {
        error_add_file(err, name);
        return status;
    }
    return doc_parse(name, text, len, standard_input ? guess_format(text, len) : doc_format_of(name), ret_doc, err);
}

void doc_locate_segments(const struct doc *doc, const struct qs_bytes *segments, size_t count, bool at_key,
                         unsigned *ret_line, unsigned *ret_column)
{
    struct parse_position position;
    parse_position_init(&position, segments, count);
    if (doc->format == DOC_YAML)
        yamltext_locate(doc->text, doc->len, &position);
    else
        (void)jsontext_walk(doc->text, doc->len, SIZE_MAX, &position);
    parse_position_of(doc->text, at_key ? position.key_at : position.value_at, ret_line, ret_column);
    parse_position_release(&position);
}

void doc_locate(const struct doc *doc, const struct qs_key *key, bool at_key, unsigned *ret_line, unsigned *ret_column)
{
    struct qs_bytes segments[QS_KEY_MAX_SEGMENTS];
    size_t count = 0, at = 0;
    while (key && count < QS_KEY_MAX_SEGMENTS && key_next_segment(key->bytes, key->len, &at, &segments[count]))
        count++;
    doc_locate_segments(doc, segments, count, at_key, ret_line, ret_column);
}

void doc_blame(const struct doc *doc, const struct qs_key *key, bool at_key, struct qs_error *err)
{
    unsigned line, column;
    char path[QS_ERROR_PATH_BYTES];
    if (!err)
        return;
    doc_locate(doc, key, at_key, &line, &column);
    error_add_file(err, doc->file);
    error_add_place(err, line, column);
    error_add_path(err, key ? qs_key_format(key->bytes, key->len, path, sizeof path) : "");
}
