/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching stores from a thread of its own, so that the event loop never waits.
 *
 *     JavaScript             the thread
 *     next(callback)  --->   looks, and waits in poll() until there is an event
 *     callback        <---   gives it, and waits for the next call
 *     close(callback) --->   ends; then, on JavaScript's thread, it is joined and the callback is called
 *
 * JavaScript pulls: between two calls the thread does nothing, so that a program that is slow, or has lost interest,
 * is not flooded. The event loop is kept alive only by a call that waits. The thread is joined in every case: after
 * close, when the object is collected, and when the environment ends (also a worker's).
 */
#include "binding.h"

#include <cerrno>
#include <cstring>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

static constexpr int LOOK_AGAIN_MS = 1000;       /* where inotify is deaf, generations are found this way */
static constexpr int64_t FAULT_STANDS_MS = 1000; /* a store that is being replaced is a damaged one for a moment */
static constexpr size_t STORES_MAX = 3;

struct item {
    qs_store *store = nullptr;
    qs_watch *watch = nullptr;
    qs_error fault = {}; /* of the last look, where it failed */
    int64_t fault_since_ms = 0;
    bool fault_told = false;
};

struct event {
    bool failed = false;
    qs_error err = {};
    qs_scope scope = QS_SCOPE_SYSTEM;
    qs_watch_event facts = {};
    bool known = false; /* the history has the record; what follows is from it */
    double time_ms = 0;
    uint32_t pid = 0;
    std::string user, program, message, action;
    std::vector<std::string> changed, locks;
};

class watcher;
static void deliver(Napi::Env env, Napi::Function, std::shared_ptr<watcher> *self, event *given);
using channel = Napi::TypedThreadSafeFunction<std::shared_ptr<watcher>, event, deliver>;

class watcher
{
  public:
    ~watcher();
    qs_status open(const place &where, qs_scope scope, uint64_t from, qs_error *err);
    bool make_signal();
    void start(Napi::Env env, const std::shared_ptr<watcher> &self);
    void want(); /* the next event, please */
    void stop();
    void join();

    Napi::FunctionReference waiting; /* the callback of next, on JavaScript's thread only */
    Napi::FunctionReference closing; /* of close */
    channel out;

  private:
    void run();
    bool look(event *into);
    bool look_at(item &from, event *into);
    bool take_fault(item &from, qs_status status, const qs_error &err, event *into);
    void wait(bool for_events);
    void signal() const;

    std::vector<item> items;
    int signal_fd = -1;
    std::mutex lock;
    bool wanted = false, stopping = false; /* under lock */
    std::thread thread;
};

watcher::~watcher()
{
    join();
    for (item &one : items) {
        qs_watch_close(one.watch);
        qs_store_close(one.store);
    }
    if (signal_fd >= 0)
        (void)close(signal_fd);
}

qs_status watcher::open(const place &where, qs_scope scope, uint64_t from, qs_error *err)
{
    qs_store_options options = {};
    options.size = sizeof options;
    options.root = where.root_or_null();
    options.wait_ms = where.wait_ms;
    items.emplace_back();
    qs_status status = qs_store_open(scope, &options, &items.back().store, err);
    return status == QS_OK ? qs_watch_open(items.back().store, from, &items.back().watch, err) : status;
}

bool watcher::make_signal()
{
    signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return signal_fd >= 0;
}

void watcher::signal() const
{
    uint64_t one = 1;
    ssize_t written = write(signal_fd, &one, sizeof one); /* fails only when it is signalled already */
    (void)written;
}

void watcher::want()
{
    {
        std::lock_guard<std::mutex> hold(lock);
        wanted = true;
    }
    signal();
}

void watcher::stop()
{
    {
        std::lock_guard<std::mutex> hold(lock);
        stopping = true;
    }
    if (signal_fd >= 0)
        signal();
}

void watcher::join()
{
    stop();
    if (thread.joinable())
        thread.join();
}

/* ---- the thread ---- */

static int64_t now_ms()
{
    timespec now = {};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

static void fill_from_record(qs_history *history, event *into)
{
    const qs_record *record = nullptr;
    if (!history || qs_history_find(history, into->facts.generation, &record, nullptr) != QS_OK)
        return;
    into->known = true;
    into->time_ms = static_cast<double>(record->time_s) * 1000 + record->time_ns / 1000000;
    into->pid = record->pid;
    into->user = record->user;
    into->program = record->program;
    into->message = record->message;
    into->action = record->action;
    std::vector<char> text(QS_KEY_TEXT_BYTES);
    for (size_t i = 0; i < record->change_count; i++) {
        const qs_change *change = qs_history_change(history, i);
        if (change->area != QS_AREA_SETTINGS && change->area != QS_AREA_LOCKS)
            continue;
        auto &list = change->area == QS_AREA_SETTINGS ? into->changed : into->locks;
        list.emplace_back(qs_key_format(change->key.data, change->key.len, text.data(), text.size()));
    }
}

/* A fault is told once, when it has stood for a while; until then, and afterwards, the store is looked at again. */
bool watcher::take_fault(item &from, qs_status status, const qs_error &err, event *into)
{
    if (from.fault.status != status || strcmp(from.fault.message, err.message) != 0) {
        from.fault = err;
        from.fault.status = status;
        from.fault_since_ms = now_ms();
        from.fault_told = false;
    }
    if (from.fault_told || now_ms() - from.fault_since_ms < FAULT_STANDS_MS)
        return false;
    from.fault_told = true;
    into->failed = true;
    into->err = from.fault;
    return true;
}

bool watcher::look_at(item &from, event *into)
{
    qs_error err = {};
    into->facts.size = sizeof into->facts;
    qs_status status = qs_watch_next(from.watch, &into->facts, &err);
    if (status == QS_BUSY)
        return false; /* writers that were too fast for one read: the next turn tells */
    if (status != QS_OK && status != QS_NOT_FOUND && status != QS_ABSENT)
        return take_fault(from, status, err, into);
    from.fault = {};
    from.fault_told = false;
    if (status != QS_OK)
        return false;
    into->scope = qs_store_scope(from.store);
    fill_from_record(qs_watch_history(from.watch), into);
    return true;
}

bool watcher::look(event *into)
{
    for (item &one : items)
        if (look_at(one, into))
            return true;
    return false;
}

void watcher::wait(bool for_events)
{
    pollfd fds[1 + STORES_MAX] = {};
    nfds_t count = 0;
    uint64_t signals;
    fds[count++] = {signal_fd, POLLIN, 0};
    for (size_t i = 0; for_events && i < items.size(); i++)
        fds[count++] = {qs_watch_fd(items[i].watch), POLLIN, 0};
    (void)poll(fds, count, for_events ? LOOK_AGAIN_MS : -1); /* interrupted: looks once more */
    ssize_t got = read(signal_fd, &signals, sizeof signals);
    (void)got;
}

void watcher::run()
{
    (void)pthread_setname_np(pthread_self(), "qsettings-watch");
    for (;;) {
        bool for_events;
        {
            std::lock_guard<std::mutex> hold(lock);
            if (stopping)
                break;
            for_events = wanted;
        }
        auto found = std::make_unique<event>();
        if (for_events && look(found.get())) {
            {
                std::lock_guard<std::mutex> hold(lock);
                wanted = false;
            }
            if (out.NonBlockingCall(found.get()) != napi_ok)
                break;             /* the environment is ending */
            (void)found.release(); /* deliver frees it */
            continue;
        }
        wait(for_events);
    }
    (void)out.Release();
}

/* ---- JavaScript's side ---- */

static Napi::Array texts(Napi::Env env, const std::vector<std::string> &list)
{
    Napi::Array array = Napi::Array::New(env, list.size());
    for (size_t i = 0; i < list.size(); i++)
        array[static_cast<uint32_t>(i)] = Napi::String::New(env, list[i]);
    return array;
}

static Napi::Object event_value(Napi::Env env, const event &given)
{
    Napi::Object object = Napi::Object::New(env);
    auto text = [&](const std::string &words) { return text_or_null(env, given.known ? words.c_str() : nullptr); };
    object["scope"] = Napi::String::New(env, qs_scope_name(given.scope));
    object["generation"] = number_or_null(env, given.facts.generation);
    object["policyChanged"] = Napi::Boolean::New(env, given.facts.policy_changed);
    object["storeReplaced"] = Napi::Boolean::New(env, given.facts.store_replaced);
    object["historyMissing"] = Napi::Boolean::New(env, given.facts.history_missing);
    object["time"] = given.known ? Napi::Date::New(env, given.time_ms).As<Napi::Value>() : env.Null();
    object["user"] = text(given.user);
    object["program"] = text(given.program);
    object["pid"] = number_or_null(env, given.pid);
    object["action"] = text(given.action);
    object["message"] = text(given.message);
    object["changed"] = texts(env, given.changed);
    object["locks"] = texts(env, given.locks);
    return object;
}

static void deliver(Napi::Env env, Napi::Function, std::shared_ptr<watcher> *self, event *given)
{
    std::unique_ptr<event> held(given);
    if (!env || (*self)->waiting.IsEmpty())
        return; /* the environment is ending, or the watch was closed in the meantime */
    Napi::HandleScope scope(env);
    Napi::Function callback = (*self)->waiting.Value();
    (*self)->waiting.Reset();
    (*self)->out.Unref(env);
    if (given->failed)
        callback.Call({error_value(env, given->err, nullptr)});
    else
        callback.Call({env.Null(), event_value(env, *given)});
}

/* What the channel holds while the thread lives. */
struct running {
    std::shared_ptr<watcher> self;
};

/* The environment ends: nothing of the thread may be left, and nothing calls JavaScript any more. */
static void environment_ends(void *data)
{
    watcher &self = *static_cast<running *>(data)->self;
    self.join();
    self.waiting.Reset();
    self.closing.Reset();
}

static void thread_ended(Napi::Env env, running *data, std::shared_ptr<watcher> *)
{
    std::unique_ptr<running> held(data);
    (void)napi_remove_env_cleanup_hook(env, environment_ends, data);
    data->self->join();
    if (data->self->closing.IsEmpty())
        return;
    Napi::HandleScope scope(env);
    Napi::Function callback = data->self->closing.Value();
    data->self->closing.Reset();
    callback.Call({});
}

/* The cleanup hook is added after the channel's own, and so is run before it. Throws std::system_error. */
void watcher::start(Napi::Env env, const std::shared_ptr<watcher> &self)
{
    auto *held = new running{self};
    out = channel::New(env, "qsettings watch", 0, 1, &held->self, thread_ended, held);
    out.Unref(env);
    (void)napi_add_env_cleanup_hook(env, environment_ends, held);
    try {
        thread = std::thread(&watcher::run, this);
    } catch (...) {
        (void)out.Release();
        throw;
    }
}

/* ---- functions ---- */

static std::shared_ptr<watcher> &self_of(const Napi::CallbackInfo &info)
{
    return *info[0].As<Napi::External<std::shared_ptr<watcher>>>().Data();
}

static void no_thread(Napi::Env env, const char *what, int number)
{
    qs_error err = {};
    err.sys_errno = number;
    snprintf(err.message, sizeof err.message, "%s: %s", what, strerror(number));
    error_check(env, QS_IO, err);
}

/* watchOpen({root, waitMs, scopes: [{scope, from}]}): a handle. Reads each store once. */
static Napi::Value watch_open(const Napi::CallbackInfo &info)
{
    Napi::Env env = info.Env();
    Napi::Object options = info[0].As<Napi::Object>();
    Napi::Array scopes = options.Get("scopes").As<Napi::Array>();
    auto self = std::make_shared<watcher>();
    if (!self->make_signal())
        no_thread(env, "no eventfd", errno);
    for (uint32_t i = 0; i < scopes.Length() && i < STORES_MAX; i++) {
        Napi::Object one = scopes.Get(i).As<Napi::Object>();
        qs_error err = {};
        auto scope = static_cast<qs_scope>(one.Get("scope").As<Napi::Number>().Int32Value());
        auto from = static_cast<uint64_t>(one.Get("from").As<Napi::Number>().Int64Value());
        error_check(env, self->open(place_of(options), scope, from, &err), err);
    }
    try {
        self->start(env, self);
    } catch (const std::system_error &refused) {
        no_thread(env, "no thread", refused.code().value());
    }
    return Napi::External<std::shared_ptr<watcher>>::New(env, new std::shared_ptr<watcher>(self),
                                                         [](Napi::Env, std::shared_ptr<watcher> *held) {
                                                             (*held)->stop();
                                                             delete held;
                                                         });
}

/* watchNext(handle, callback(error, event)): one at a time. */
static void watch_next(const Napi::CallbackInfo &info)
{
    auto &self = self_of(info);
    self->waiting = Napi::Persistent(info[1].As<Napi::Function>());
    self->out.Ref(info.Env());
    self->want();
}

/* watchClose(handle, callback()): once. A call of watchNext that waits is never called back. */
static void watch_close(const Napi::CallbackInfo &info)
{
    auto &self = self_of(info);
    if (!self->waiting.IsEmpty())
        self->waiting.Reset();
    else
        self->out.Ref(info.Env());
    self->closing = Napi::Persistent(info[1].As<Napi::Function>());
    self->stop();
}

void watch_exports(Napi::Env env, Napi::Object exports)
{
    exports["watchOpen"] = Napi::Function::New(env, watch_open, "watchOpen");
    exports["watchNext"] = Napi::Function::New(env, watch_next, "watchNext");
    exports["watchClose"] = Napi::Function::New(env, watch_close, "watchClose");
}
