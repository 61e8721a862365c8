/* SPDX-License-Identifier: Apache-2.0 */
/* The addon's way in, once for each environment. */
#include "binding.h"

/* setErrorClass(QsError): what refusals are thrown as. index.cjs calls it before anything else. */
static void set_error_class(const Napi::CallbackInfo &info)
{
    info.Env().GetInstanceData<addon>()->error_class = Napi::Persistent(info[0].As<Napi::Function>());
}

static Napi::Object init(Napi::Env env, Napi::Object exports)
{
    env.SetInstanceData(new addon());
    exports["setErrorClass"] = Napi::Function::New(env, set_error_class, "setErrorClass");
    exports["version"] = Napi::String::New(env, qs_version());
    policy_exports(env, exports);
    settings_exports(env, exports);
    watch_exports(env, exports);
    return exports;
}

NODE_API_MODULE(qsettings, init)
