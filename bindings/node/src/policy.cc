/* SPDX-License-Identifier: Apache-2.0 */
/* The policy: out of the stores, out of a frozen descriptor, out of the session that runs this program. */
#include "binding.h"

#include <unistd.h>

struct result_free {
    void operator()(qs_policy_result *result) const
    {
        qs_policy_free(result);
    }
};

static Napi::Object source_value(Napi::Env env, const struct qs_policy_source &source)
{
    bool read = source.status == QS_OK;
    Napi::Object object = Napi::Object::New(env);
    object["scope"] = Napi::String::New(env, qs_scope_name(source.scope));
    object["state"] = Napi::String::New(env, read ? "ok" : qs_status_name(source.status));
    object["setsPolicy"] = Napi::Boolean::New(env, source.sets_policy);
    object["required"] = Napi::Boolean::New(env, source.required);
    object["generation"] = number_or_null(env, source.generation);
    object["storeId"] = text_or_null(env, read ? hex_of(source.store_id, QS_STORE_ID_BYTES).c_str() : nullptr);
    object["digest"] = text_or_null(env, read ? digest_of(source.digest).c_str() : nullptr);
    object["place"] = Napi::String::New(env, source.path);
    return object;
}

/* A call that gives a policy; where it comes from is the subclass's. */
class policy_call : public call
{
  public:
    explicit policy_call(bool freeze) : freezes(freeze)
    {
    }
    ~policy_call() override
    {
        if (frozen_fd >= 0)
            (void)close(frozen_fd);
    }

    qs_status run(qs_error *err) override
    {
        qs_policy_result *given = nullptr;
        qs_status status = read(&given, err);
        result.reset(given); /* also on refusal: it tells of the sources */
        if (status == QS_OK && freezes)
            status = qs_policy_freeze(result.get(), &frozen_fd, err);
        return status;
    }

    Napi::Value value(Napi::Env env) override
    {
        size_t len = 0;
        const char *document = qs_policy_document(result.get(), &len);
        Napi::Object object = Napi::Object::New(env);
        object["document"] = Napi::String::New(env, document, len);
        object["digest"] = Napi::String::New(env, digest_of(qs_policy_digest(result.get())));
        object["sources"] = sources(env);
        if (freezes) {
            object["fd"] = Napi::Number::New(env, frozen_fd);
            frozen_fd = -1; /* the program's now */
        }
        return object;
    }

    void failure(Napi::Env env, Napi::Object fields) override
    {
        if (result)
            fields["sources"] = sources(env);
    }

  protected:
    virtual qs_status read(qs_policy_result **ret_result, qs_error *err) = 0;

  private:
    Napi::Array sources(Napi::Env env) const
    {
        size_t count = qs_policy_source_count(result.get());
        Napi::Array array = Napi::Array::New(env, count);
        for (size_t i = 0; i < count; i++)
            array[static_cast<uint32_t>(i)] = source_value(env, *qs_policy_source(result.get(), i));
        return array;
    }

    bool freezes;
    int frozen_fd = -1;
    std::unique_ptr<qs_policy_result, result_free> result;
};

class from_stores : public policy_call
{
  public:
    from_stores(const Napi::Object &options, bool freeze) : policy_call(freeze), where(place_of(options))
    {
        Napi::Value require = options.Get("require");
        scopes = require.IsNumber() ? require.As<Napi::Number>().Uint32Value() : 0;
    }

  protected:
    qs_status read(qs_policy_result **ret_result, qs_error *err) override
    {
        qs_policy_options options = {};
        options.size = sizeof options;
        options.root = where.root_or_null();
        options.wait_ms = where.wait_ms;
        options.require_scopes = scopes;
        return qs_policy_read(&options, ret_result, err);
    }

  private:
    place where;
    unsigned scopes;
};

class from_frozen : public policy_call
{
  public:
    explicit from_frozen(int given) : policy_call(false), fd(given)
    {
    }

  protected:
    qs_status read(qs_policy_result **ret_result, qs_error *err) override
    {
        return qs_policy_thaw(fd, ret_result, err);
    }

  private:
    int fd;
};

class from_session : public policy_call
{
  public:
    from_session(std::string text, std::string file)
        : policy_call(false), session(std::move(text)), program(std::move(file))
    {
    }

  protected:
    qs_status read(qs_policy_result **ret_result, qs_error *err) override
    {
        return qs_policy_session(session.c_str(), program.c_str(), ret_result, err);
    }

  private:
    std::string session, program;
};

/* policyRead({root, waitMs, require, freeze}, later) */
static Napi::Value policy_read(const Napi::CallbackInfo &info)
{
    Napi::Object options = info[0].As<Napi::Object>();
    return call_do(info.Env(), std::make_unique<from_stores>(options, flag_of(options, "freeze")),
                   info[1].ToBoolean().Value());
}

/* policyThaw(fd) */
static Napi::Value policy_thaw(const Napi::CallbackInfo &info)
{
    return call_do(info.Env(), std::make_unique<from_frozen>(info[0].As<Napi::Number>().Int32Value()), false);
}

/* policySession(session, program) */
static Napi::Value policy_session(const Napi::CallbackInfo &info)
{
    return call_do(info.Env(),
                   std::make_unique<from_session>(info[0].As<Napi::String>().Utf8Value(),
                                                  info[1].As<Napi::String>().Utf8Value()),
                   false);
}

void policy_exports(Napi::Env env, Napi::Object exports)
{
    exports["policyRead"] = Napi::Function::New(env, policy_read, "policyRead");
    exports["policyThaw"] = Napi::Function::New(env, policy_thaw, "policyThaw");
    exports["policySession"] = Napi::Function::New(env, policy_session, "policySession");
}
