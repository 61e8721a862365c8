/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the library, now or on another thread, their errors, and values that more than one file makes. */
#include "binding.h"

void call::failure(Napi::Env, Napi::Object)
{
}

Napi::Value error_value(Napi::Env env, const qs_error &err, call *what)
{
    Napi::Object fields = Napi::Object::New(env);
    fields["status"] = Napi::Number::New(env, -static_cast<int>(err.status));
    fields["message"] = Napi::String::New(env, err.message[0] ? err.message : qs_status_name(err.status));
    fields["advice"] = text_or_null(env, err.advice[0] ? err.advice : nullptr);
    fields["file"] = text_or_null(env, err.file[0] ? err.file : nullptr);
    fields["path"] = text_or_null(env, err.path[0] ? err.path : nullptr);
    fields["line"] = number_or_null(env, err.line);
    fields["column"] = number_or_null(env, err.column);
    fields["errno"] = number_or_null(env, static_cast<uint64_t>(err.sys_errno));
    if (what)
        what->failure(env, fields);
    return env.GetInstanceData<addon>()->error_class.New({fields});
}

static qs_error with_status(qs_status status, const qs_error &err)
{
    qs_error whole = err;
    whole.status = status;
    return whole;
}

void error_check(Napi::Env env, qs_status status, const qs_error &err)
{
    if (status != QS_OK)
        throw Napi::Error(env, error_value(env, with_status(status, err), nullptr));
}

/* Lives until the promise is settled; AsyncWorker deletes itself then. */
class later : public Napi::AsyncWorker
{
  public:
    later(Napi::Env env, std::unique_ptr<call> given)
        : Napi::AsyncWorker(env, "qsettings"), work(std::move(given)), deferred(Napi::Promise::Deferred::New(env))
    {
    }
    Napi::Value promise() const
    {
        return deferred.Promise();
    }

  protected:
    void Execute() override
    {
        status = work->run(&err);
    }
    void OnOK() override
    {
        if (status == QS_OK)
            deferred.Resolve(work->value(Env()));
        else
            deferred.Reject(error_value(Env(), with_status(status, err), work.get()));
    }

  private:
    std::unique_ptr<call> work;
    Napi::Promise::Deferred deferred;
    qs_status status = QS_OK;
    qs_error err = {};
};

Napi::Value call_do(Napi::Env env, std::unique_ptr<call> work, bool is_later)
{
    if (is_later) {
        auto *worker = new later(env, std::move(work));
        Napi::Value promise = worker->promise();
        worker->Queue();
        return promise;
    }
    qs_error err = {};
    qs_status status = work->run(&err);
    if (status != QS_OK)
        throw Napi::Error(env, error_value(env, with_status(status, err), work.get()));
    return work->value(env);
}

/* ---- values ---- */

std::string text_of(const Napi::Object &options, const char *name)
{
    Napi::Value value = options.Get(name);
    return value.IsString() ? value.As<Napi::String>().Utf8Value() : std::string();
}

bool flag_of(const Napi::Object &options, const char *name)
{
    return options.Get(name).ToBoolean().Value();
}

place place_of(const Napi::Object &options)
{
    place where;
    where.root = text_of(options, "root");
    Napi::Value wait = options.Get("waitMs");
    where.wait_ms = wait.IsNumber() ? wait.As<Napi::Number>().Uint32Value() : 0;
    return where;
}

Napi::Value text_or_null(Napi::Env env, const char *text)
{
    return text ? Napi::String::New(env, text).As<Napi::Value>() : env.Null();
}

Napi::Value number_or_null(Napi::Env env, uint64_t number)
{
    return number ? Napi::Number::New(env, static_cast<double>(number)).As<Napi::Value>() : env.Null();
}

std::string hex_of(const unsigned char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (size_t i = 0; i < count; i++) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

std::string digest_of(const unsigned char *digest)
{
    return "blake2b-256:" + hex_of(digest, QS_DIGEST_BYTES);
}
