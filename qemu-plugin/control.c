/*
 * The control socket: one line in, one line of JSON out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "filter.h"
#include "qemu_api.h"
#include "recorder.h"
#include "stopon.h"
#include "descriptors.h"

#define REQUEST_MAX    4096
#define REPLY_MAX      8192
#define SEND_TIMEOUT_S 5

static struct {
    int listener;
    int client;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    char directory[4096];
    char target[32];
    char request[REQUEST_MAX + 1];
    size_t used;
    bool skipping; /* the rest of a line that was too long */
} c = {.listener = -1, .client = -1};

/* --- answers --------------------------------------------------------------------------------------------------------- */

typedef struct Reply {
    char text[REPLY_MAX];
    size_t used;
} Reply;

__attribute__((format(printf, 2, 3))) static void put(Reply *r, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(r->text + r->used, sizeof(r->text) - r->used, format, args);
    va_end(args);
    if (n > 0) {
        r->used += (size_t)n;
        r->used = r->used < sizeof(r->text) ? r->used : sizeof(r->text) - 1;
    }
}

static void put_string(Reply *r, const char *key, const char *value)
{
    put(r, ", \"%s\": \"", key);
    for (; *value; value++) {
        const unsigned char ch = (unsigned char)*value;

        if (ch == '"' || ch == '\\') {
            put(r, "\\%c", ch);
        } else if (ch < 0x20) {
            put(r, "\\u%04x", ch);
        } else {
            put(r, "%c", ch);
        }
    }
    put(r, "\"");
}

static void put_error(Reply *r, const char *word, const char *message)
{
    r->used = 0;
    put(r, "{\"ok\": false");
    put_string(r, "error", word);
    put_string(r, "message", message);
    put(r, "}\n");
}

static void put_status(Reply *r)
{
    static const char *const names[] = {"stopped", "recording", "failed", "limit", "finished"};
    RecorderStatus s;

    recorder_status(&s);
    put(r, ", \"recording\": %s, \"state\": \"%s\"", s.state == RECORDER_RECORDING ? "true" : "false", names[s.state]);
    put(r, ", \"instructions\": %" PRIu64 ", \"blocks\": %" PRIu64 ", \"distinct_blocks\": %" PRIu32, s.n_insns,
        s.n_blocks, s.distinct_blocks);
    put(r, ", \"chunks\": %" PRIu64 ", \"stream_bytes\": %" PRIu64 ", \"gaps\": %" PRIu64 ", \"generation\": %" PRIu64,
        s.n_chunks, s.stream_bytes, s.n_gaps, s.generation);
    put_string(r, "message", s.message);
    put_string(r, "filter", s.filter);
    put(r, ", \"ring\": %" PRIu64 ", \"dropped_instructions\": %" PRIu64, s.ring_size, s.dropped_insns);
}

/* --- requests -------------------------------------------------------------------------------------------------------- */

static void do_hello(Reply *r)
{
    unsigned n = 0;

    for (unsigned i = 0; i < recorder.max_vcpus; i++) {
        n += recorder.vcpus[i] != NULL;
    }
    put(r, ", \"protocol\": 1");
    put_string(r, "plugin_version", GX_VERSION);
    put(r, ", \"plugin_api\": %d", GX_API);
    put_string(r, "target", c.target);
    put(r, ", \"vcpus\": %u, \"pid\": %d", n, (int)getpid());
    put_string(r, "directory", c.directory);
}

static void answer(char *line, Reply *r)
{
    char *text = strchr(line, ' ');
    char message[256] = "";
    bool already = false, ok = true;
    unsigned n;

    if (text) {
        *text++ = '\0';
    } else {
        text = line + strlen(line);
    }
    put(r, "{\"ok\": true");
    if (!strcmp(line, "hello")) {
        do_hello(r);
    } else if (!strcmp(line, "start")) {
        ok = recorder_start(text, &already, &n, message, sizeof(message));
        put(r, ", \"already\": %s, \"vcpus\": %u", already ? "true" : "false", n);
    } else if (!strcmp(line, "stop")) {
        recorder_stop(&already);
        put(r, ", \"already\": %s", already ? "true" : "false");
    } else if (!strcmp(line, "status")) {
        put_status(r);
    } else if (!strcmp(line, "sync")) {
        recorder_sync();
        put_status(r);
    } else if (!strcmp(line, "clear")) {
        ok = recorder_clear(message, sizeof(message));
        put(r, ", \"generation\": %" PRIu64, recorder.live->generation);
    } else if (!strcmp(line, "mark")) {
        recorder_mark(text);
    } else if (!strcmp(line, "finish")) {
        ok = recorder_finish();
        snprintf(message, sizeof(message), "%s", recorder.message);
        put_status(r);
    } else if (!strcmp(line, "release")) {
        recorder_release();
    } else if (!strcmp(line, "filter")) {
        ok = filter_request(text, message, sizeof(message));
    } else if (!strcmp(line, "ring")) {
        char *end;
        const uint64_t size = strtoull(text, &end, 10);

        ok = *text >= '0' && *text <= '9' && !*end && (!size || size >= RECORDER_RING_MIN);
        if (ok) {
            recorder_ring(size);
        }
        snprintf(message, sizeof(message), "ring: wants a size of %u bytes or more, or 0", RECORDER_RING_MIN);
    } else if (!strcmp(line, "stop-on")) {
        StopOnStatus now;

        ok = stopon_request(text, &now, message, sizeof(message));
        put(r, ", \"set\": %s, \"hit\": %s", now.set ? "true" : "false", now.hit ? "true" : "false");
        put(r, ", \"count\": %" PRIu64 ", \"address\": %" PRIu64 ", \"vcpu\": %u, \"released\": %" PRIu64, now.count,
            now.address, now.vcpu, now.released);
    } else {
        for (char *p = line; *p; p++) { /* the answer is JSON, whatever came */
            *p = *p >= ' ' && *p <= '~' ? *p : '?';
        }
        snprintf(message, sizeof(message), "unknown request '%.40s'", line);
        put_error(r, "unknown-request", message);
        return;
    }
    if (!ok) {
        put_error(r, recorder.state == RECORDER_FINISHED ? "finished" : "failed", message);
        return;
    }
    put(r, "}\n");
}

/* --- the socket ------------------------------------------------------------------------------------------------------ */

static bool send_all(int fd, const char *text, size_t length)
{
    while (length) {
        ssize_t n = send(fd, text, length, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        text += n;
        length -= (size_t)n;
    }
    return true;
}

static void close_client(void)
{
    close(c.client);
    c.client = -1;
}

static void accept_client(void)
{
    const struct timeval timeout = {.tv_sec = SEND_TIMEOUT_S};
    int fd = descriptors_move(accept4(c.listener, NULL, NULL, SOCK_CLOEXEC));
    Reply r = {.used = 0};

    if (fd < 0) {
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    if (c.client >= 0) {
        put_error(&r, "busy", "another controller is connected");
        send_all(fd, r.text, r.used);
        close(fd);
        return;
    }
    c.client = fd;
    c.used = 0;
    c.skipping = false;
}

/* Answer every whole line in the buffer. */
static bool answer_lines(void)
{
    char *end;

    while ((end = memchr(c.request, '\n', c.used))) {
        const size_t length = (size_t)(end - c.request) + 1;
        Reply r = {.used = 0};

        *end = '\0';
        if (end > c.request && end[-1] == '\r') {
            end[-1] = '\0';
        }
        if (c.skipping) {
            c.skipping = false;
        } else {
            answer(c.request, &r);
            if (!send_all(c.client, r.text, r.used)) {
                return false;
            }
        }
        memmove(c.request, c.request + length, c.used - length);
        c.used -= length;
    }
    return true;
}

static void read_client(void)
{
    Reply r = {.used = 0};
    ssize_t n = recv(c.client, c.request + c.used, REQUEST_MAX - c.used, 0);

    if (n <= 0) {
        close_client();
        return;
    }
    c.used += (size_t)n;
    if (!answer_lines()) {
        close_client();
        return;
    }
    if (c.used == REQUEST_MAX) {
        if (!c.skipping) {
            put_error(&r, "too-long", "a request is one line of at most 4096 bytes");
            if (!send_all(c.client, r.text, r.used)) {
                close_client();
            }
        }
        c.skipping = true;
        c.used = 0;
    }
}

static void *control_main(void *unused)
{
    (void)unused;
    for (;;) {
        struct pollfd fds[2] = {{.fd = c.listener, .events = POLLIN}, {.fd = c.client, .events = POLLIN}};

        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            return NULL;
        }
        if (c.client >= 0 && fds[1].revents) {
            read_client();
        }
        if (fds[0].revents & POLLNVAL) { /* a single program has closed it */
            return NULL;
        }
        if (fds[0].revents & POLLIN) {
            accept_client();
        }
    }
}

bool control_open(const char *directory, const char *target, char *message, size_t message_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    sigset_t all, old;
    pthread_t thread;
    int err;

    if (snprintf(c.path, sizeof(c.path), "%s/control", directory) >= (int)sizeof(c.path)) {
        snprintf(message, message_size, "%s: too long for a socket's path (at most %zu bytes)", directory,
                 sizeof(c.path) - sizeof("/control"));
        return false;
    }
    if (!realpath(directory, c.directory)) {
        snprintf(message, message_size, "%s: %s", directory, strerror(errno));
        return false;
    }
    snprintf(c.target, sizeof(c.target), "%s", target);
    memcpy(address.sun_path, c.path, sizeof(c.path));
    c.listener = descriptors_move(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    /* between bind and chmod the directory (0700) keeps others out */
    if (c.listener < 0 || bind(c.listener, (struct sockaddr *)&address, sizeof(address)) || chmod(c.path, 0600) ||
        listen(c.listener, 8)) {
        snprintf(message, message_size, "%s: %s", c.path, strerror(errno));
        return false;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&thread, NULL, control_main, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err) {
        snprintf(message, message_size, "cannot start the control thread: %s", strerror(err));
        return false;
    }
    pthread_detach(thread);
    return true;
}

void control_close(void)
{
    if (c.listener >= 0) {
        unlink(c.path);
    }
}
