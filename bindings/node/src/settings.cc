/* SPDX-License-Identifier: Apache-2.0 */
/* Effective settings: the whole merged document in one read, why a setting has its value, and key paths. */
#include "binding.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct settings_close {
    void operator()(qs_settings *settings) const
    {
        qs_settings_close(settings);
    }
};
using settings_ptr = std::unique_ptr<qs_settings, settings_close>;

struct free_text {
    void operator()(char *text) const
    {
        std::free(text);
    }
};

/* A call that begins with reading all layers. */
class settings_call : public call
{
  public:
    explicit settings_call(const Napi::Object &options)
        : where(place_of(options)), workspace(text_of(options, "workspace"))
    {
    }

    qs_status run(qs_error *err) override
    {
        qs_settings_options options = {};
        options.size = sizeof options;
        qs_settings *opened = nullptr;
        options.root = where.root_or_null();
        options.wait_ms = where.wait_ms;
        options.workspace_file = workspace.empty() ? nullptr : workspace.c_str();
        qs_status status = qs_settings_open(&options, &opened, err);
        if (status != QS_OK)
            return status;
        settings.reset(opened);
        return answer(err);
    }

  protected:
    virtual qs_status answer(qs_error *err) = 0;
    bool has_layer() const
    {
        for (int layer = 0; layer < QS_LAYER_COUNT; layer++)
            if (qs_settings_generation(settings.get(), static_cast<qs_layer>(layer)))
                return true;
        return !workspace.empty();
    }

    settings_ptr settings;

  private:
    place where;
    std::string workspace;
};

class read_call : public settings_call
{
  public:
    explicit read_call(const Napi::Object &options) : settings_call(options)
    {
    }

    Napi::Value value(Napi::Env env) override
    {
        Napi::Object object = Napi::Object::New(env), generations = Napi::Object::New(env);
        static const qs_layer stores[] = {QS_LAYER_DEFAULTS, QS_LAYER_USER, QS_LAYER_SYSTEM};
        for (qs_layer layer : stores)
            generations[qs_layer_name(layer)] = number_or_null(env, qs_settings_generation(settings.get(), layer));
        size_t count = qs_settings_warning_count(settings.get());
        Napi::Array warnings = Napi::Array::New(env, count);
        for (size_t i = 0; i < count; i++)
            warnings[static_cast<uint32_t>(i)] = Napi::String::New(env, qs_settings_warning(settings.get(), i));
        object["text"] = Napi::String::New(env, text.get(), len);
        object["generations"] = generations;
        object["warnings"] = warnings;
        return object;
    }

  protected:
    /* No layer at all is no empty document: nothing was there that could have said anything. */
    qs_status answer(qs_error *err) override
    {
        char *given = nullptr;
        if (!has_layer()) {
            snprintf(err->message, sizeof err->message, "there is no store, and no workspace file was named");
            snprintf(err->advice, sizeof err->advice, "make a store with `qsettings init`");
            return QS_ABSENT;
        }
        qs_status status = qs_settings_json(settings.get(), nullptr, &given, &len, err);
        text.reset(given);
        return status;
    }

  private:
    std::unique_ptr<char, free_text> text;
    size_t len = 0;
};

/* ---- explain ---- */

static Napi::Object layer_value(Napi::Env env, qs_layer id, const qs_explain_layer &layer)
{
    Napi::Object object = Napi::Object::New(env);
    object["layer"] = Napi::String::New(env, qs_layer_name(id));
    object["state"] = Napi::String::New(env, qs_layer_state_name(layer.state));
    object["value"] = text_or_null(env, layer.value);
    object["store"] = text_or_null(env, layer.store);
    object["generation"] = number_or_null(env, layer.generation);
    object["silenced"] = Napi::Boolean::New(env, layer.silenced);
    object["locked"] = Napi::Boolean::New(env, layer.locked_here);
    object["line"] = number_or_null(env, layer.line);
    object["set"] = env.Null();
    if (layer.user) {
        Napi::Object set = Napi::Object::New(env);
        set["user"] = Napi::String::New(env, layer.user);
        set["generation"] = number_or_null(env, layer.set_generation);
        set["time"] = Napi::Date::New(env, static_cast<double>(layer.set_time_s) * 1000);
        object["set"] = set;
    }
    return object;
}

class explain_call : public settings_call
{
  public:
    explain_call(const Napi::Object &options, std::string path) : settings_call(options), key(std::move(path))
    {
    }
    ~explain_call() override
    {
        qs_explanation_free(explanation);
    }

    Napi::Value value(Napi::Env env) override
    {
        Napi::Object object = Napi::Object::New(env);
        Napi::Array layers = Napi::Array::New(env, QS_LAYER_COUNT);
        for (uint32_t id = 0; id < QS_LAYER_COUNT; id++)
            layers[id] = layer_value(env, static_cast<qs_layer>(id),
                                     *qs_explanation_layer(explanation, static_cast<qs_layer>(id)));
        object["key"] = Napi::String::New(env, key);
        object["value"] = text_or_null(env, explanation->value);
        object["winner"] =
            text_or_null(env,
                         explanation->winner < 0 ? nullptr : qs_layer_name(static_cast<qs_layer>(explanation->winner)));
        object["reason"] = Napi::String::New(env, qs_reason_name(explanation->reason));
        object["text"] = Napi::String::New(env, explanation->text);
        object["layers"] = layers;
        return object;
    }

  protected:
    qs_status answer(qs_error *err) override
    {
        return qs_settings_explain(settings.get(), key.c_str(), &explanation, err);
    }

  private:
    std::string key;
    qs_explanation *explanation = nullptr;
};

/* settingsRead({root, waitMs, workspace}, later) */
static Napi::Value settings_read(const Napi::CallbackInfo &info)
{
    return call_do(info.Env(), std::make_unique<read_call>(info[0].As<Napi::Object>()), info[1].ToBoolean().Value());
}

/* settingsExplain({root, waitMs, workspace}, key, later) */
static Napi::Value settings_explain(const Napi::CallbackInfo &info)
{
    return call_do(info.Env(),
                   std::make_unique<explain_call>(info[0].As<Napi::Object>(), info[1].As<Napi::String>().Utf8Value()),
                   info[2].ToBoolean().Value());
}

/* ---- key paths ---- */

/* keySegments(text): the segments of a key path in either spelling. */
static Napi::Value key_segments(const Napi::CallbackInfo &info)
{
    Napi::Env env = info.Env();
    std::string text = info[0].As<Napi::String>().Utf8Value();
    qs_error err = {};
    qs_key key = {};
    if (text.find('\0') != std::string::npos) {
        snprintf(err.message, sizeof err.message, "a key has no zero byte in it");
        error_check(env, QS_INVALID, err);
    }
    error_check(env, qs_key_parse(text.c_str(), &key, &err), err);
    Napi::Array segments = Napi::Array::New(env);
    const char *at = reinterpret_cast<const char *>(key.bytes), *end = at + key.len;
    for (uint32_t i = 0; at < end; i++) {
        size_t len = strnlen(at, static_cast<size_t>(end - at));
        segments[i] = Napi::String::New(env, at, len);
        at += len + 1;
    }
    return segments;
}

/* keyText(segments): the dotted spelling. */
static Napi::Value key_text(const Napi::CallbackInfo &info)
{
    Napi::Env env = info.Env();
    Napi::Array segments = info[0].As<Napi::Array>();
    qs_error err = {};
    qs_key key = {};
    for (uint32_t i = 0; i < segments.Length(); i++) {
        std::string segment = segments.Get(i).As<Napi::String>().Utf8Value();
        error_check(env, qs_key_push(&key, segment.data(), segment.size(), &err), err);
    }
    std::vector<char> text(QS_KEY_TEXT_BYTES);
    return Napi::String::New(env, qs_key_format(key.bytes, key.len, text.data(), text.size()));
}

void settings_exports(Napi::Env env, Napi::Object exports)
{
    exports["settingsRead"] = Napi::Function::New(env, settings_read, "settingsRead");
    exports["settingsExplain"] = Napi::Function::New(env, settings_explain, "settingsExplain");
    exports["keySegments"] = Napi::Function::New(env, key_segments, "keySegments");
    exports["keyText"] = Napi::Function::New(env, key_text, "keyText");
}
