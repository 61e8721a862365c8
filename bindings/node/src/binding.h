/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room bindings/node/src/: How does a program for Node.js get the same?
 *
 * What the files of the addon share. The addon is thin: each function is one call of the library, given plain values by
 * index.cjs, and gives plain values and the library's own JSON text back. It keeps nothing of a read alive, so that no
 * memory waits for the garbage collector. Only a watch is an object.
 *
 * Errors: whatever the library refuses is thrown (or rejects the promise) as a QsError of index.cjs.
 */
#ifndef BINDING_H
#define BINDING_H

#include <memory>
#include <napi.h>
#include <qsettings/qsettings.h>
#include <string>

/* Of one environment (each worker thread has its own): the constructor of QsError. */
struct addon {
    Napi::FunctionReference error_class;
};

/* One call of the library. run() may be called on any thread, value() and failure() on JavaScript's. */
class call
{
  public:
    call() = default;
    virtual ~call() = default;
    call(const call &) = delete;
    call &operator=(const call &) = delete;

    virtual qs_status run(qs_error *err) = 0;
    virtual Napi::Value value(Napi::Env env) = 0;
    /* What the error tells beyond struct qs_error. */
    virtual void failure(Napi::Env env, Napi::Object fields);
};

/* Runs it here, or on a thread of libuv's pool; the value, or a promise of it. */
Napi::Value call_do(Napi::Env env, std::unique_ptr<call> work, bool later);

/* A QsError; what may be NULL. */
Napi::Value error_value(Napi::Env env, const qs_error &err, call *what);
/* Throws what a function of the library returned, if it is an error. */
void error_check(Napi::Env env, qs_status status, const qs_error &err);

/* ---- values ---- */

/* Where stores are, as index.cjs hands it in: {root, waitMs}. Both may be missing. */
struct place {
    std::string root; /* "": the fixed places */
    unsigned wait_ms = 0;

    const char *root_or_null() const
    {
        return root.empty() ? nullptr : root.c_str();
    }
};
place place_of(const Napi::Object &options);
std::string text_of(const Napi::Object &options, const char *name); /* "": missing */
bool flag_of(const Napi::Object &options, const char *name);

Napi::Value text_or_null(Napi::Env env, const char *text);
Napi::Value number_or_null(Napi::Env env, uint64_t number); /* 0 is null */
std::string hex_of(const unsigned char *bytes, size_t count);
std::string digest_of(const unsigned char *digest); /* as the programs print it */

/* ---- the functions, by file ---- */

void policy_exports(Napi::Env env, Napi::Object exports);
void settings_exports(Napi::Env env, Napi::Object exports);
void watch_exports(Napi::Env env, Napi::Object exports);

#endif
